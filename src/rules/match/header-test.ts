import { type HeaderLines, headerValues } from '../../http/headers.ts'
import { readHeaderText } from '../select/selection.ts'
import { type ValueMatcher, matchesAny, matchesValue } from './value-match.ts'

/** Returns true when a header matches. `name` is in lower case. */
export function matchesHeader(lines: HeaderLines, name: string, matcher: ValueMatcher): boolean {
  let first: string | undefined
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (!isHeader(key, name)) continue
    if (first !== undefined) return matchesAny(matcher, textsOf(lines, name))
    first = lines[i + 1]!
  }
  return matchesValue(matcher, first === undefined ? undefined : readHeaderText(name, first))
}

/** All lines of a header, each read as the text that it stands for. */
export function textsOf(lines: HeaderLines, name: string): readonly string[] {
  return headerValues(lines, name).map((value) => readHeaderText(name, value))
}

/**
 * True when a header line has this name, which is in lower case. Makes no lower-case copy of the
 * line's.
 */
export function isHeader(key: string, name: string): boolean {
  if (key.length !== name.length) return false
  if (key === name) return true
  for (let i = 0; i < name.length; i++) {
    const code = key.charCodeAt(i)
    const lower = code >= 0x41 && code <= 0x5a ? code + 32 : code
    if (lower !== name.charCodeAt(i)) return false
  }
  return true
}
