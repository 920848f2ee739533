import type { Given } from '../flags/flag-values.ts'
import { isToken } from '../../http/header-text.ts'
import { badOption } from '../flags/usage-error.ts'

const MAX_NAME = 128
// oxlint-disable-next-line no-control-regex
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/
/** Headers that the load client sets. */
const OWN = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
])

/** Parses headers written as `name=value`. Errors do not repeat values, which may be secret. */
export function parseHeaders(all: readonly Given[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { text, source } of all) {
    const at = text.indexOf('=')
    const name = text.slice(0, Math.max(0, at)).trim().toLowerCase()
    if (at === -1 || !isToken(name, MAX_NAME)) {
      throw badOption(source, 'the header has no name', 'write name=value')
    }
    if (OWN.has(name)) {
      throw badOption(source, `squall load sets ${name}`, 'leave it out')
    }
    const value = text.slice(at + 1).trim()
    if (!VALUE.test(value)) {
      throw badOption(
        source,
        `the value of ${name} is not a valid header value`,
        'write it on one line',
      )
    }
    headers[name] = value
  }
  return headers
}
