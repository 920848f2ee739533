import type { HeaderLines } from '../http/headers.ts'
import { isRecord } from '../base/values.ts'
import { decodeHeaderValue, encodeHeaderValue } from './name-header.ts'

const REPEATS = /^mcp-(?:name|param-(.+))$/i

/**
 * Returns headers whose `Mcp-Name` and `Mcp-Param-*` values follow a changed message. Without the
 * schema of the tool, a header belongs to the argument that it repeats: the one with its name, or
 * the only one.
 */
export function followMessage(lines: HeaderLines, before: string, after: string): HeaderLines {
  if (!lines.some((name, at) => at % 2 === 0 && REPEATS.test(name))) return lines
  const [old, changed] = [valuesOf(before), valuesOf(after)]
  return lines.flatMap((name, at) => {
    if (at % 2 === 1) return []
    const repeats = REPEATS.exec(name)
    const value = repeats === null ? undefined : decodeHeaderValue(lines[at + 1]!)
    const places = repeats?.[1] === undefined ? /^\/(?:name|uri|taskId)$/ : /^\/arguments\//
    const equal = [...old.keys()].filter((path) => old.get(path) === value && places.test(path))
    const end = `/${repeats?.[1]}`.toLowerCase()
    const named = equal.find((path) => path.toLowerCase().endsWith(end))
    const path = named ?? (equal.length === 1 ? equal[0]! : '')
    const now = changed.get(path)
    if (now === old.get(path)) return [name, lines[at + 1]!]
    // A value that is gone has no header.
    return now === undefined ? [] : [name, encodeHeaderValue(now)]
  })
}

/** Returns the values in the parameters of a message, as headers write them, by their paths. */
function valuesOf(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const take = (value: unknown, path: string): void => {
    if (isRecord(value)) for (const key in value) take(value[key], `${path}/${key}`)
    else if (/^(?:string|number|boolean)$/.test(typeof value)) found.set(path, String(value))
  }
  take((JSON.parse(text) as { readonly params?: unknown }).params, '')
  return found
}
