import { parsePointer } from '../base/json/json-pointer.ts'
import { isRecord } from '../base/values.ts'
import { isSecretName, REDACTED } from './log-redact.ts'
import { redactText } from './redact-text.ts'

/** Selects the values of messages that are replaced by `[redacted]`. */
export interface Redaction {
  /** True to keep values that look like secrets. */
  readonly keepSecrets: boolean
  /** The keys of further values, such as `params`, `arguments`, `card`; `*` is any key or index. */
  readonly paths: readonly (readonly string[])[]
}

/** Deeper values are left out, and JSON within more texts within texts is not read. */
const MAX_DEPTH = 64
const MAX_NESTED = 3
/** Names in definitions of tools, prompts and resources, by which clients find them. */
const NAMES: ReadonlySet<string> = new Set(
  'name type required enum pattern format mimeType $ref $schema $id protocolVersion'.split(' '),
)
const SCHEMAS: ReadonlySet<string> = new Set(['inputSchema', 'outputSchema', 'requestedSchema'])
const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates', 'capabilities'] as const
const NUMBER = /(?:token|secret|password|cookie|authorization|apikey)$/
const TEXTUAL = /^text\/|json|xml|yaml|script/i
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Returns the members of a JSON-RPC message without secrets. */
export function redactMessage(
  message: Readonly<Record<string, unknown>>,
  { keepSecrets, paths }: Redaction,
): Record<string, unknown> {
  const { params, result, error, ...rest } = message
  const method = rest['method']
  const copy: Record<string, unknown> = { ...rest }
  for (const [part, value] of Object.entries({ params, result, error })) {
    if (value === undefined) continue
    copy[part] = keepSecrets ? value : new Redactor(isDefinition(value)).copy(value)
    // Names are not arguments: a call is found by the name of its tool.
    const name = isRecord(value) && part === 'params' && method !== undefined && value['name']
    if (typeof name === 'string') (copy[part] as Record<string, unknown>)['name'] = name
  }
  for (const path of paths) {
    replace(copy, path, 0)
    if (path[0] === 'result' && path[1] === 'structuredContent')
      replaceInTexts(copy['result'], path)
  }
  return copy
}

/** Returns true for lists of definitions, and for the description of a peer. */
function isDefinition(value: unknown): boolean {
  if (!isRecord(value) || 'content' in value) return false
  return LISTS.some((key) => typeof value[key] === 'object')
}

/** Copies JSON values without secrets. */
class Redactor {
  readonly #nested: number
  /** True within definitions, in which some strings are names. */
  #defines: boolean
  #depth = 0

  constructor(defines: boolean, nested = 0) {
    this.#defines = defines
    this.#nested = nested
  }

  copy(value: unknown, isSecret = false): unknown {
    if (typeof value === 'string') return isSecret && value !== '' ? REDACTED : this.#text(value)
    if (typeof value !== 'object' || value === null) return value
    if (++this.#depth > MAX_DEPTH) return this.#left('[cut]')
    if (Array.isArray(value)) return this.#left(value.map((each) => this.copy(each, isSecret)))
    const copy: Record<string, unknown> = {}
    const { mimeType } = value as { readonly mimeType?: unknown }
    for (const [key, each] of Object.entries(value)) {
      const own =
        typeof mimeType === 'string' && typeof each === 'string' && /^(data|blob)$/.test(key)
          ? this.#payload(each, mimeType)
          : this.#member(key, each as unknown, isSecret)
      Object.defineProperty(copy, key, { ...PLAIN, value: own })
    }
    return this.#left(copy)
  }

  #left<T>(value: T): T {
    this.#depth--
    return value
  }

  #member(key: string, value: unknown, isInSecret: boolean): unknown {
    if (this.#defines && NAMES.has(key)) return value
    if (SCHEMAS.has(key) && !this.#defines) {
      this.#defines = true
      const copy = this.copy(value)
      this.#defines = false
      return copy
    }
    const isSecret = isInSecret || isSecretName(key)
    if (typeof value === 'number' && isSecret) {
      // Counts of tokens stay.
      return NUMBER.test(key.toLowerCase().replaceAll(/[-_]/g, '')) ? REDACTED : value
    }
    // The properties of a schema have names of secrets, not secrets.
    const isNested = typeof value === 'object' && this.#defines
    return this.copy(value, isSecret && !isNested)
  }

  /** Copies a text; one of JSON stays valid. */
  #text(text: string): string {
    if (this.#nested < MAX_NESTED && /^\s*[[{]/.test(text)) {
      try {
        const value: unknown = JSON.parse(text)
        const copy = new Redactor(isDefinition(value), this.#nested + 1).copy(value)
        const [before, after] = [JSON.stringify(value), JSON.stringify(copy)]
        // Unlike the value, the text may repeat a key.
        if (before === after && redactText(text) === text) return text
        return text.includes('\n') ? JSON.stringify(copy, null, 2) : after
      } catch {
        // Other texts may begin with a bracket.
      }
    }
    return redactText(text)
  }

  /** Copies base64, which stays valid. */
  #payload(text: string, mimeType: string): string {
    if (!BASE64.test(text)) return this.#text(text)
    if (!TEXTUAL.test(mimeType)) return text
    const plain = Buffer.from(text, 'base64').toString()
    const copy = this.#text(plain)
    return copy === plain ? text : Buffer.from(copy).toString('base64')
  }
}

const PLAIN = { enumerable: true, configurable: true, writable: true }

function replace(at: unknown, path: readonly string[], depth: number): void {
  if (typeof at !== 'object' || at === null) return
  const key = path[depth]!
  const record = at as Record<string, unknown>
  for (const own of key === '*' ? Object.keys(record) : Object.hasOwn(at, key) ? [key] : []) {
    if (depth === path.length - 1) record[own] = REDACTED
    else replace(record[own], path, depth + 1)
  }
}

/** Replaces values of `structuredContent` in the texts that repeat them. */
function replaceInTexts(result: unknown, path: readonly string[]): void {
  const content = isRecord(result) ? result['content'] : undefined
  if (!Array.isArray(content)) return
  const depths = [2]
  // SDKs wrap other values than objects as `result`, and make each item of a list a text of its own.
  if (path[2] === 'result') depths.push(3)
  if (path[2] === 'result' && /^(?:\*|\d+)$/.test(path[3] ?? '')) depths.push(4)
  for (const block of content as unknown[]) {
    for (const holder of isRecord(block) ? [block, block['resource']] : []) {
      if (!isRecord(holder) || typeof holder['text'] !== 'string') continue
      holder['text'] = replacedIn(holder['text'], path, depths)
    }
  }
}

function replacedIn(text: string, path: readonly string[], depths: readonly number[]): string {
  if (depths.includes(path.length)) return REDACTED
  try {
    const value: unknown = JSON.parse(text)
    const before = JSON.stringify(value)
    for (const depth of depths) replace(value, path, depth)
    const after = JSON.stringify(value)
    if (before === after) return text
    return text.includes('\n') ? JSON.stringify(value, null, 2) : after
  } catch {
    return text
  }
}

/** Returns the paths of JSON Pointers. */
export function pathsOf(pointers: readonly string[]): Redaction['paths'] {
  return pointers.map((pointer) => parsePointer(pointer) ?? []).filter(({ length }) => length > 0)
}
