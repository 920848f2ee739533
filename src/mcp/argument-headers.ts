import type { HeaderLines } from '../http/headers.ts'
import { isRecord } from '../base/values.ts'
import { decodeHeaderValue, encodeHeaderValue } from './name-header.ts'

const REPEATS = /^mcp-(?:name|param-(.+))$/i
const NAMES = /^\/(?:name|uri|taskId)$/

/**
 * Returns headers whose `Mcp-Name` and `Mcp-Param-*` values follow a changed message. Without the
 * schema of the tool, a header belongs to the value that it repeats: the one with its name, or the
 * only one.
 */
export function followMessage(lines: HeaderLines, before: string, after: string): HeaderLines {
  if (!lines.some((name, at) => at % 2 === 0 && REPEATS.test(name))) return lines
  const old = valuesOf(before)
  const changed = valuesOf(after)
  return lines.flatMap((name, at) => {
    if (at % 2 === 1) return []
    const line = [name, lines[at + 1]!]
    const path = pathOf(name, decodeHeaderValue(line[1]!), old)
    if (path === undefined || changed.get(path) === old.get(path)) return line
    const value = changed.get(path)
    // A value that is gone has no header.
    return value === undefined ? [] : [name, encodeHeaderValue(value)]
  })
}

/** Returns the path of the value that a header repeats. */
function pathOf(
  name: string,
  value: string | undefined,
  values: ReadonlyMap<string, string>,
): string | undefined {
  const repeats = REPEATS.exec(name)
  if (repeats === null) return undefined
  const param = repeats[1]?.toLowerCase()
  const equal = [...values.keys()].filter(
    (path) =>
      values.get(path) === value &&
      (param === undefined ? NAMES.test(path) : path.startsWith('/arguments/')),
  )
  const named = equal.find((path) => path.toLowerCase().endsWith(`/${param}`))
  return named ?? (equal.length === 1 ? equal[0] : undefined)
}

/** Returns the values in the parameters of a message, as headers write them, by their paths. */
function valuesOf(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const take = (value: unknown, path: string): void => {
    if (isRecord(value))
      for (const [key, each] of Object.entries(value)) take(each, `${path}/${key}`)
    else if (['string', 'number', 'boolean'].includes(typeof value)) found.set(path, String(value))
  }
  const message: unknown = JSON.parse(text)
  take(isRecord(message) ? message['params'] : undefined, '')
  return found
}
