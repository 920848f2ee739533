import { quoted } from '../../base/text/foreign-text.ts'
import type { AdminEndpoint } from '../../lab/top/sidecar-view.ts'
import type { TopOptions } from '../../lab/top/top.ts'
import { readTokenFlag, parseAdminToken, parseReadToken } from '../flags/admin-access.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { canonicalHost, isHost, isWildcard, parsePort, splitHostPort } from '../flags/host.ts'
import { UsageError } from '../flags/usage-error.ts'

const FLAGS = [
  ...flagGroup('Output:', {
    once: 'print one snapshot and exit; the exit code is 1 if a sidecar did not respond',
    json: 'print one line of JSON per second',
  }),
  ...readTokenFlag('Reading:'),
  ...flagGroup('Changes:', {
    'admin-token-file': [
      'path',
      'file with the token for arming and disarming (or SQUALL_ADMIN_TOKEN itself)',
    ],
  }),
]

export const TOP = defineCommand({
  name: 'top',
  examples: ['top', 'top 127.0.0.1:15390 127.0.0.1:15391', 'top --once --json'],
  page: 'docs/guides/top.md',
  description:
    'watch sidecars in a terminal, by their admin ports: armed or not, injections, origin of errors',
  operands: { form: '[addresses...]', most: Infinity },
  flags: FLAGS,
  note: `
Addresses are host:port or http://host:port (default: 127.0.0.1:15390). ? lists the keys.
Without a terminal it prints one line per sidecar and second.`,
  parse: parseTop,
  start: async (options) => (await import('../../lab/top/top.ts')).top(options),
})

const DEFAULT = '127.0.0.1:15390'
const DEFAULT_PORT = '15390'
const MAX_SIDECARS = 64
const FORM = 'write host:port or http://host:port of an admin port'

function parseTop(raw: RawFlags, env: Environment, addresses: readonly string[]): TopOptions {
  const flags = new FlagValues(FLAGS, raw, env)
  return {
    endpoints: parseEndpoints(addresses.length === 0 ? [DEFAULT] : addresses),
    json: flags.switch('json'),
    once: flags.switch('once'),
    token: parseAdminToken(flags, env),
    readToken: parseReadToken(flags, env),
    noColour: (env['NO_COLOR'] ?? '') !== '',
    dumb: env['TERM'] === 'dumb',
  }
}

/** Returns each sidecar once: a sidecar that is named twice would be counted twice. */
function parseEndpoints(addresses: readonly string[]): readonly AdminEndpoint[] {
  const endpoints = new Map<string, AdminEndpoint>()
  for (const text of addresses) {
    const endpoint = parseEndpoint(text)
    endpoints.set(`${canonicalHost(endpoint.host)} ${endpoint.port}`, endpoint)
  }
  if (endpoints.size > MAX_SIDECARS) {
    throw new UsageError(
      'BAD_VALUE',
      `${endpoints.size} sidecars are too many`,
      `name ${MAX_SIDECARS} at most`,
    )
  }
  return [...endpoints.values()]
}

function parseEndpoint(text: string): AdminEndpoint {
  if (text.includes('@')) {
    // The text may hold a password, so it is not repeated.
    throw bad('an address holds a user name or password', 'leave it out')
  }
  if (/^https:/i.test(text)) {
    throw bad(`${quoted(text)} is https`, 'admin ports speak plain HTTP: write http://host:port')
  }
  const endpoint = text.replace(/^http:\/\//i, '').replace(/\/$/, '')
  if (/[/?#\\]/.test(endpoint)) {
    throw bad(`${quoted(text)} has a path or a query`, 'end the address after the port')
  }
  const parts = /^\d+$/.test(endpoint)
    ? { host: '127.0.0.1', port: endpoint }
    : splitHostPort(endpoint)
  if (parts === undefined || !isHost(parts.host))
    throw bad(`${quoted(text)} is not an address`, FORM)
  if (isWildcard(parts.host)) {
    throw bad(`${quoted(text)} names no single host`, 'use 127.0.0.1 or [::1] instead')
  }
  const isOpen = parts.port === '' && !endpoint.endsWith(':')
  const port = parsePort(isOpen ? DEFAULT_PORT : parts.port)
  if (port === undefined || port === 0) {
    throw bad(`${quoted(text)} has no valid port`, 'use a port from 1 to 65535')
  }
  return { host: parts.host, port }
}

function bad(wrong: string, fix: string): UsageError {
  return new UsageError('BAD_ADDRESS', wrong, fix)
}
