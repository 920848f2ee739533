import { prefixName } from './values.ts'
import { escaped, exactName } from '../match/text-match.ts'

/** A match as it is written in rules. */
export interface HttpMatch {
  readonly http?: { readonly method?: unknown; readonly path?: unknown; readonly status?: unknown }
  readonly headers?: Readonly<Record<string, unknown>>
  readonly tool?: unknown
  readonly podLabels?: Readonly<Record<string, string>>
  readonly any?: readonly HttpMatch[]
  readonly all?: readonly HttpMatch[]
  readonly not?: HttpMatch
}

/** Matches every HTTP exchange, as proxies without knowledge of MCP do. */
export const EVERY_EXCHANGE: HttpMatch = { http: { path: '*' } }

/** A comparison of a text; `regex` is about the whole text. */
export interface TextTest {
  readonly how: 'exact' | 'prefix' | 'suffix' | 'contains' | 'regex'
  readonly text: string
  readonly ignoreCase?: boolean
}

const EDGES: Readonly<Record<TextTest['how'], readonly [string, string]>> = {
  exact: ['^', '$'],
  prefix: ['^', ''],
  suffix: ['', '$'],
  contains: ['', ''],
  regex: ['', ''],
}

function regexOf({ how, text, ignoreCase }: TextTest): { readonly regex: string } {
  const [before, after] = EDGES[how]
  const body = how === 'regex' ? text : escaped(text)
  return { regex: `${ignoreCase ? '(?i)' : ''}${before}${body}${after}` }
}

/** Returns the match of a path or method. */
export function asName(test: TextTest): unknown {
  if (test.ignoreCase || test.how === 'regex') return regexOf(test)
  if (test.how === 'exact') return exactName(test.text)
  return test.how === 'prefix' ? prefixName(test.text) : regexOf(test)
}

/** Returns the match of a header's value. */
export function asHeader(test: TextTest): string | Readonly<Record<string, string>> {
  if (test.ignoreCase) return regexOf(test)
  return test.how === 'exact' ? test.text : { [test.how]: test.text }
}

/** Returns the match of a header: since protocol version 2026-07-28, `mcp-name` names the tool. */
export function headerIs(name: string, test: TextTest): HttpMatch {
  const key = name.toLowerCase()
  return key === 'mcp-name' ? { tool: asName(test) } : { headers: { [key]: asHeader(test) } }
}

/** Returns a match for which all of these hold: one object, unless keys are duplicate. */
export function allOf(parts: readonly HttpMatch[]): HttpMatch {
  const http = new Map<string, unknown>()
  const headers = new Map<string, unknown>()
  let others: HttpMatch = {}
  const rest: HttpMatch[] = []
  for (const part of parts) {
    const { http: ofHttp = {}, headers: ofHeaders = {}, ...own } = part
    const isTwice =
      Object.keys(own).some((key) => Object.hasOwn(others, key)) ||
      Object.keys(ofHttp).some((key) => http.has(key)) ||
      Object.keys(ofHeaders).some((name) => headers.has(name))
    if (isTwice) {
      rest.push(part)
      continue
    }
    for (const [key, value] of Object.entries(ofHttp)) http.set(key, value)
    for (const [name, value] of Object.entries(ofHeaders)) headers.set(name, value)
    if (Object.keys(own).length > 0) others = { ...others, ...own }
  }
  // A tool is that of a call, by clients of every protocol version.
  if (others.tool !== undefined && headers.get('mcp-method') === 'tools/call') {
    headers.delete('mcp-method')
  }
  return {
    ...(http.size > 0 && { http: Object.fromEntries(http) }),
    ...(headers.size > 0 && { headers: Object.fromEntries(headers) }),
    ...others,
    ...(rest.length > 0 && { all: [...(others.all ?? []), ...rest] }),
  }
}

/** Returns a match of HTTP exchanges, which needs a path or method. */
export function exchanges(parts: readonly HttpMatch[]): HttpMatch {
  const merged = allOf(parts)
  return merged.http === undefined ? { ...EVERY_EXCHANGE, ...merged } : merged
}
