import { posix } from 'node:path'
import { quoted } from '../../base/text/foreign-text.ts'
import {
  clashes,
  formatListen,
  type HostPort,
  isAt,
  isHost,
  isWildcard,
  type ListenAddress,
  parsePort,
  reaches,
  splitHostPort,
  takes,
} from '../../http/address.ts'
import type { UpstreamAddress } from '../../upstream/address.ts'
import type { FlagInput } from '../../base/flags/flag.ts'
import { invalidAddress, invalidOption, type UsageError } from '../../base/flags/usage-error.ts'

// The longest path in a socket address on Linux; on macOS it is four bytes shorter.
const MAX_SOCKET_PATH = 107
const LISTEN_FORM = 'write host:port, [::1]:port, :port, port or unix:/path.sock'
const UPSTREAM_FORM = 'write http://host:port, https://host or unix:/path.sock'
const PORT_FORM = 'use a port from 0 to 65535'

/** Parses an address to listen on. Port 0 lets the system choose. */
export function parseListen({ text, source }: FlagInput): ListenAddress {
  if (text.startsWith('unix:')) return { kind: 'unix', path: socketPath(text, source) }
  if (/^\d+$/.test(text)) return { kind: 'tcp', host: '::', port: listenPort(text, text, source) }
  if (text.includes('://')) throw invalidAddress(source, `${quoted(text)} is a URL`, LISTEN_FORM)
  const parts = splitHostPort(text)
  if (parts === undefined)
    throw invalidAddress(source, `invalid address ${quoted(text)}`, LISTEN_FORM)
  if (parts.port === '') throw invalidAddress(source, `${quoted(text)} has no port`, LISTEN_FORM)
  if (parts.host !== '' && !isHost(parts.host)) {
    throw invalidAddress(source, `invalid host in ${quoted(text)}`, LISTEN_FORM)
  }
  const port = listenPort(parts.port, text, source)
  return { kind: 'tcp', host: parts.host === '' ? '::' : parts.host, port }
}

function listenPort(port: string, text: string, source: string): number {
  const number = parsePort(port)
  if (number !== undefined) return number
  throw invalidAddress(source, `invalid port in ${quoted(text)}`, PORT_FORM)
}

/** Parses the address of the upstream. Rejects a path: clients choose the path. */
export function parseUpstream({ text, source }: FlagInput): UpstreamAddress {
  if (text.startsWith('unix:')) return { kind: 'unix', path: socketPath(text, source) }
  const match = /^(https?):\/\/(.*)$/is.exec(text)
  const rest = match?.[2]
  if (rest === undefined) throw notUpstream(text, source)
  if (rest.includes('@')) {
    // The text may hold a password, so it is not repeated.
    throw invalidAddress(
      source,
      'the URL contains a user name or password',
      'remove it: clients send their own',
    )
  }
  const authority = rest.endsWith('/') ? rest.slice(0, -1) : rest
  if (/[/?#\\]/.test(authority)) {
    throw invalidAddress(
      source,
      `${quoted(text)} has a path or a query`,
      'end the URL after the port: paths pass through as the client sends them',
    )
  }
  const tls = match?.[1]?.toLowerCase() === 'https'
  return { kind: 'tcp', tls, ...parseAuthority(splitHostPort(authority), tls, text, source) }
}

function parseAuthority(
  parts: HostPort | undefined,
  tls: boolean,
  text: string,
  source: string,
): { host: string; port: number } {
  if (parts === undefined || !isHost(parts.host)) {
    throw invalidAddress(source, `invalid host in ${quoted(text)}`, UPSTREAM_FORM)
  }
  if (isWildcard(parts.host)) {
    throw invalidAddress(
      source,
      `${quoted(text)} must be a single host`,
      'use 127.0.0.1 or [::1] instead',
    )
  }
  const written = parts.port === '' && !text.endsWith(':') ? (tls ? '443' : '80') : parts.port
  const port = parsePort(written)
  if (port === undefined || port === 0) {
    throw invalidAddress(source, `invalid port in ${quoted(text)}`, 'use a port from 1 to 65535')
  }
  return { host: parts.host, port }
}

/** Parses the host that replaces the host of an upstream. IPv6 may have brackets. */
export function parseUpstreamHost({ text, source }: FlagInput): string {
  const host = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (!isHost(host) || (host !== text && !host.includes(':'))) {
    throw invalidAddress(
      source,
      `invalid host ${quoted(text)}`,
      'write a name or an address, without a port',
    )
  }
  if (isWildcard(host)) {
    throw invalidAddress(
      source,
      `${quoted(text)} must be a single host`,
      'use the address of the pod',
    )
  }
  return host
}

function notUpstream(text: string, source: string): UsageError {
  const parts = /^\d+$/.test(text) ? { host: '127.0.0.1', port: text } : splitHostPort(text)
  if (parts !== undefined && isHost(parts.host) && parsePort(parts.port) !== undefined) {
    const meant = formatListen({ kind: 'tcp', host: parts.host, port: Number(parts.port) })
    return invalidAddress(source, `invalid URL ${quoted(text)}`, `write http://${meant}`)
  }
  return invalidAddress(source, `invalid upstream ${quoted(text)}`, UPSTREAM_FORM)
}

function socketPath(text: string, source: string): string {
  const path = text.slice('unix:'.length)
  if (!path.startsWith('/') || path.endsWith('/') || path.includes('\u0000')) {
    throw invalidAddress(
      source,
      `invalid socket address ${quoted(text)}`,
      'write unix: and an absolute path',
    )
  }
  const normal = posix.normalize(path.replace(/^\/+/, '/'))
  if (Buffer.byteLength(normal) > MAX_SOCKET_PATH) {
    throw invalidAddress(
      source,
      'the path of the socket is too long',
      `use at most ${MAX_SOCKET_PATH} bytes`,
    )
  }
  return normal
}

/**
 * Returns true when a connection to the upstream would reach the listener: a loop. `own` are the
 * addresses of this machine, each of which reaches a listener on every interface.
 */
export function loops(
  listen: ListenAddress,
  upstream: UpstreamAddress,
  own: readonly string[] = [],
): boolean {
  if (listen.kind === 'unix') return upstream.kind === 'unix' && upstream.path === listen.path
  if (upstream.kind === 'unix' || listen.port !== upstream.port) return false
  return (
    reaches(listen.host, upstream.host) ||
    own.some((address) => isAt(address, upstream.host) && takes(listen.host, address))
  )
}

/** Returns true when the two cannot both be bound. */
export function overlaps(one: ListenAddress, other: ListenAddress): boolean {
  if (one.kind === 'unix') return other.kind === 'unix' && other.path === one.path
  if (other.kind === 'unix' || one.port === 0 || one.port !== other.port) return false
  return clashes(one.host, other.host)
}

/**
 * Parses the path of a control socket: a unix socket, which no network reaches. Throws a
 * `UsageError`.
 */
export function parseControl({ text, source }: FlagInput): string {
  if (text.startsWith('unix:')) return socketPath(text, source)
  throw invalidAddress(
    source,
    `invalid control socket ${quoted(text)}`,
    'write unix: and an absolute path, such as unix:/run/squall/control.sock',
  )
}

/** Parses the address of an admin port, as this machine connects to it. Throws a `UsageError`. */
export function adminToAsk(given: FlagInput): ListenAddress {
  if (given.text === 'off') {
    throw invalidOption(
      given.source,
      'readiness is read from the admin port, which is off',
      'enable the admin port of squall run',
    )
  }
  const address = parseListen(given)
  if (address.kind === 'unix' || !isWildcard(address.host)) return address
  // A listener on :: accepts IPv4 as well, and is bound to 0.0.0.0 where IPv6 is missing.
  return { kind: 'tcp', host: '127.0.0.1', port: address.port }
}
