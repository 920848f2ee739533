import { quoted } from '../../base/text/foreign-text.ts'
import type { AdminEndpoint } from '../../admin/contract/endpoint.ts'
import { canonicalHost, isHost, isWildcard, parsePort, splitHostPort } from '../../http/address.ts'
import { group } from '../../base/flags/flag.ts'
import { asText, duration, many, one, toggle } from '../../base/flags/kinds.ts'
import { UsageError } from '../../base/flags/usage-error.ts'

const DEFAULT = '127.0.0.1:15390'
const DEFAULT_PORT = '15390'
const MAX_SIDECARS = 64
const FORM = 'write host:port or http://host:port of an admin port'

/** Declares how a command that changes sidecars reaches them. */
export const SIDECAR_FLAGS = group('Sidecars:', {
  sidecar: many(
    'address',
    'admin port of a target sidecar, as host:port; repeatable (default: 127.0.0.1:15390)',
    (given) => parseEndpoints(given.map(({ text }) => text)),
    { short: 't' },
  ),
  adminTokenFile: one(
    'path',
    'file with the admin token of the sidecars (or set SQUALL_ADMIN_TOKEN)',
    asText,
  ),
  timeout: duration("timeout for a sidecar's response", { min: 1, max: 600_000 }, '5s'),
  json: toggle('print one JSON document'),
})

/**
 * Parses addresses of admin ports; without any, the default port of this machine. Each is returned
 * once.
 */
export function parseEndpoints(addresses: readonly string[]): readonly AdminEndpoint[] {
  const endpoints = new Map<string, AdminEndpoint>()
  for (const text of addresses.length === 0 ? [DEFAULT] : addresses) {
    const endpoint = parseEndpoint(text)
    endpoints.set(`${canonicalHost(endpoint.host)} ${endpoint.port}`, endpoint)
  }
  if (endpoints.size > MAX_SIDECARS) {
    throw new UsageError(
      'INVALID_VALUE',
      `too many sidecars: ${endpoints.size}`,
      `name ${MAX_SIDECARS} at most`,
    )
  }
  return [...endpoints.values()]
}

function parseEndpoint(text: string): AdminEndpoint {
  if (text.includes('@')) {
    // The text may hold a password, so it is not repeated.
    throw invalid('an address contains a user name or password', 'remove it')
  }
  if (/^https:/i.test(text)) {
    throw invalid(
      `${quoted(text)} is https`,
      'admin ports speak plain HTTP: write http://host:port',
    )
  }
  const endpoint = text.replace(/^http:\/\//i, '').replace(/\/$/, '')
  if (/[/?#\\]/.test(endpoint)) {
    throw invalid(`${quoted(text)} has a path or a query`, 'end the address after the port')
  }
  const parts = /^\d+$/.test(endpoint)
    ? { host: '127.0.0.1', port: endpoint }
    : splitHostPort(endpoint)
  if (parts === undefined || !isHost(parts.host))
    throw invalid(`invalid address ${quoted(text)}`, FORM)
  if (isWildcard(parts.host)) {
    throw invalid(`${quoted(text)} must be a single host`, 'use 127.0.0.1 or [::1] instead')
  }
  const isOpen = parts.port === '' && !endpoint.endsWith(':')
  const port = parsePort(isOpen ? DEFAULT_PORT : parts.port)
  if (port === undefined || port === 0) {
    throw invalid(`invalid port in ${quoted(text)}`, 'use a port from 1 to 65535')
  }
  return { host: parts.host, port }
}

function invalid(wrong: string, fix: string): UsageError {
  return new UsageError('INVALID_ADDRESS', wrong, fix)
}
