import { isRecord } from '../../base/values.ts'
import { headerValue, type HeaderLines } from '../../http/headers.ts'
import { decodeHeaderValue } from '../../mcp/name-header.ts'
import type { Facts } from '../match/call-facts.ts'
import { canonicalJson } from '../../base/json/canonical-json.ts'

/** The property of a call that decides whether it is sampled. A header is named in lower case. */
export type StickyBy = 'ordinal' | 'session' | 'args' | 'trace' | { readonly header: string }

/** Returns the sampling key of a call; its ordinal where the call lacks the property. */
export function stickyKey(stickyBy: StickyBy, facts: Facts, ordinal: number): string {
  return sharedKey(stickyBy, facts) ?? String(ordinal)
}

/** Returns the arguments of a call, from the parameter of its method. */
export function callArguments(params: unknown): unknown {
  return isRecord(params) ? params['arguments'] : undefined
}

/** Returns the decoded first value of a header. */
function headerText(lines: HeaderLines, name: string): string | undefined {
  const value = headerValue(lines, name)
  return value === undefined ? undefined : readHeaderText(name, value)
}

/** Decodes a header value: names that HTTP cannot carry are sent encoded. */
export function readHeaderText(name: string, value: string): string {
  return name === 'mcp-name' ? (decodeHeaderValue(value) ?? value) : value
}

function sharedKey(stickyBy: StickyBy, facts: Facts): string | undefined {
  if (typeof stickyBy === 'object') return headerText(facts.headers, stickyBy.header)
  switch (stickyBy) {
    case 'ordinal':
      return undefined
    case 'session':
      return facts.session
    case 'args': {
      const args = callArguments(facts.call?.params)
      return args === undefined ? undefined : canonicalJson(args)
    }
    case 'trace':
      return traceId(headerValue(facts.headers, 'traceparent'))
    default:
      return stickyBy satisfies never
  }
}

/** Returns the trace id of a `traceparent`: version, trace, parent and flags, in hexadecimal. */
function traceId(value: string | undefined): string | undefined {
  const found = value === undefined ? null : /^\s*[0-9a-f]{2}-([0-9a-f]{32})-/.exec(value)
  return found?.[1]
}
