import type { Given } from '../flags/flag-values.ts'
import { isToken } from '../../http/header-text.ts'
import { UsageError } from '../flags/usage-error.ts'

const MAX_NAME = 128
// oxlint-disable-next-line no-control-regex
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/
/** The headers that the client itself sets. */
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
      throw new UsageError('BAD_VALUE', `${source}: there is no header name`, 'write name=value')
    }
    if (OWN.has(name)) {
      throw new UsageError(
        'BAD_VALUE',
        `${source}: ${name} is set by the client itself`,
        'leave it out',
      )
    }
    const value = text.slice(at + 1).trim()
    if (!VALUE.test(value)) {
      throw new UsageError(
        'BAD_VALUE',
        `${source}: the value of ${name} cannot be in a header`,
        'use characters of one line',
      )
    }
    headers[name] = value
  }
  return headers
}
