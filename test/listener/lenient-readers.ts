import { gunzipSync } from 'node:zlib'
import { readJson } from '../../src/base/json/json-text.ts'
import type { JsonNode } from '../../src/base/json/json-node.ts'

/**
 * Returns every tool that some server would call for a request: each reader overlooks something
 * else.
 */
export function toolsRead(headers: readonly string[], body: Buffer): ReadonlySet<string> {
  const tools = new Set<string>()
  const named = valuesOf(headers, 'mcp-name').map((value) =>
    value.startsWith('=?base64?') ? Buffer.from(value.slice(9, -2), 'base64').toString() : value,
  )
  for (const text of new Set(decodings(body))) {
    for (const value of readings(text)) {
      for (const name of callsIn(value)) {
        tools.add(name)
        for (const other of named) tools.add(other)
      }
    }
  }
  return tools
}

/** Texts that servers decode bytes to, by the header they follow. */
function decodings(body: Buffer): string[] {
  const texts: string[] = []
  for (const bytes of unpacked(body)) {
    texts.push(bytes.toString(), bytes.toString('utf16le'), bytes.toString('latin1'))
    texts.push(bytes.toString('latin1').replaceAll('+ACI-', '"'))
    // Some drop what they cannot decode.
    texts.push(bytes.toString('latin1').replace(/[^\x20-\x7e]/g, ''))
  }
  return texts.map((text) => text.replace(/^\ufeff+/, ''))
}

function unpacked(body: Buffer): Buffer[] {
  try {
    return [body, ...unpacked(gunzipSync(body))]
  } catch {
    return [body]
  }
}

function readings(text: string): unknown[] {
  const lenient = text
    .replace(/\/\*.*?\*\/|\/\/[^\n]*/g, '')
    .replace(/-?(NaN|Infinity)/g, '0')
    .replace(/,\s*([}\]])/g, '$1')
  const quoted = lenient.includes('"') ? lenient : lenient.replaceAll("'", '"')
  const values: unknown[] = []
  for (const each of [text, quoted, ...quoted.split('\n'), ...prefixes(quoted)]) {
    const node = readJson(each)
    if (node === undefined) continue
    const keys = [(key: string) => key, spelled, cutAtNul]
    for (const key of keys) values.push(valueOf(node, key, true), valueOf(node, key, false))
  }
  return values
}

/** The first document of a text, where more follows. */
function prefixes(text: string): string[] {
  const found: string[] = []
  for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}', end + 1)) {
    found.push(text.slice(0, end + 1))
  }
  return found
}

function cutAtNul(key: string): string {
  return key.split('\0', 1)[0]!
}

function spelled(key: string): string {
  const letters = key.normalize('NFKC').toUpperCase().toLowerCase()
  return letters.replace(/[^a-z_]/g, '')
}

function valueOf(node: JsonNode, spell: (key: string) => string, firstWins: boolean): unknown {
  if (node.kind === 'array') return node.items.map((item) => valueOf(item, spell, firstWins))
  if (node.kind !== 'object') return node.value
  const members = firstWins ? node.members.toReversed() : node.members
  const value: Record<string, unknown> = {}
  // A member `__proto__` is set as it would be by assignment.
  for (const { key, value: member } of members) {
    value[spell(key)] = valueOf(member, spell, firstWins)
  }
  return value
}

function callsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => callsIn(element))
  if (typeof value !== 'object' || value === null) return []
  const { method, params } = value as { method?: unknown; params?: unknown }
  if (typeof method !== 'string' || spelled(method) !== 'toolscall') return []
  let given = params
  if (typeof given === 'string') given = JSON.parse(given)
  if (Array.isArray(given)) return [String(given[0])]
  const { name } = (given ?? {}) as { name?: unknown }
  return name === undefined
    ? []
    : [JSON.stringify(name).replace(/\\u\w{4}|[^\x20-\x7e]|["[\]]/g, '')]
}

function valuesOf(headers: readonly string[], name: string): string[] {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1]!.toLowerCase() === name)
}
