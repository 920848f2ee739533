import { validateHeaderName, validateHeaderValue } from 'node:http'
import { type Fields, isRecord, parsedJson } from '../../base/values.ts'
import { quoted } from '../../base/text/foreign-text.ts'

export interface HttpAction {
  readonly kind: 'http'
  readonly tls: boolean
  readonly host: string
  readonly port: number
  /** Path and query, as they go over the wire. */
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Opens a connection and sends nothing. */
export interface TcpAction {
  readonly kind: 'tcp'
  readonly host: string
  readonly port: number
}

export interface GrpcAction {
  readonly kind: 'grpc'
  readonly host: string
  readonly port: number
  readonly service: string
}

/** A probe or a hook of the pod, as it was before the injector replaced it. */
export interface AppProbe {
  /** `container/readyz`, as in its path. */
  readonly key: string
  /** The kubelet only checks whether a hook got any response. */
  readonly isHook: boolean
  readonly timeoutMs: number
  readonly action: HttpAction | TcpAction | GrpcAction
}

export type AppProbes = readonly AppProbe[]

export interface Finding {
  readonly ok: boolean
  /** The status of the upstream's response; undefined without an HTTP response. */
  readonly status?: number
  /** One line for people. */
  readonly why: string
}

export interface CheckContext {
  /** Aborts when the time limit is reached, or the client disconnects. */
  readonly signal: AbortSignal
  /** The user agent of the check. */
  readonly userAgent: string
}

export class AppProbesError extends Error {
  readonly code = 'INVALID_APP_PROBES'
}

const MAX_TEXT = 64 * 1024
const MAX_PROBES = 64
const MAX_SECONDS = 3600
const PROBE_SECONDS = 1
// A hook has no timeout: the kubelet bounds it by the pod's grace period.
const HOOK_SECONDS = 600
const KEY = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\/(?:livez|readyz|startupz|(poststart|prestop))$/
const HOST = /^[A-Za-z0-9_.:-]{1,253}$/

/** Reads probes from JSON: `{"container/readyz": {"httpGet": …}}`. Throws `AppProbesError`. */
export function parseAppProbesJson(text: string, appHost: string): AppProbes {
  if (text.length > MAX_TEXT) throw new AppProbesError(`longer than ${MAX_TEXT} characters`)
  const value = parsedJson(text)
  if (value === undefined) throw new AppProbesError('not JSON')
  const entries = Object.entries(object(value, 'the whole'))
  if (entries.length > MAX_PROBES) throw new AppProbesError(`more than ${MAX_PROBES} probes`)
  return entries.map(([key, handler]) => parseProbe(key, object(handler, key), appHost))
}

function parseProbe(key: string, handler: Fields, appHost: string): AppProbe {
  const match = KEY.exec(key)
  if (match === null) {
    const kinds = 'livez, readyz, startupz, poststart or prestop'
    throw new AppProbesError(
      `invalid key ${quoted(key)}; use CONTAINER/PROBE, where PROBE is ${kinds}`,
    )
  }
  const isHook = match[1] !== undefined
  const seconds = handler['timeoutSeconds'] ?? (isHook ? HOOK_SECONDS : PROBE_SECONDS)
  const timeoutMs = 1000 * whole(seconds, `${key}: timeoutSeconds`, MAX_SECONDS)
  return { key, isHook, timeoutMs, action: parseAction(key, handler, appHost) }
}

function parseAction(key: string, handler: Fields, appHost: string): AppProbe['action'] {
  const kinds = ['httpGet', 'tcpSocket', 'grpc'].filter((kind) => (handler[kind] ?? null) !== null)
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) {
    throw new AppProbesError(`${key} requires exactly one of httpGet, tcpSocket and grpc`)
  }
  const action = object(handler[kind], `${key}: ${kind}`)
  const port = whole(action['port'], `${key}: ${kind}.port`, 65_535)
  const host = optionalText(action['host'], `${key}: ${kind}.host`) || appHost
  if (!HOST.test(host)) throw new AppProbesError(`${key}: ${kind}.host must be a valid host`)
  if (kind === 'tcpSocket') return { kind: 'tcp', host, port }
  if (kind === 'grpc') {
    const service = optionalText(action['service'], `${key}: grpc.service`)
    return { kind: 'grpc', host: appHost, port, service }
  }
  const scheme = (optionalText(action['scheme'], `${key}: httpGet.scheme`) || 'HTTP').toUpperCase()
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') {
    throw new AppProbesError(`${key}: httpGet.scheme must be HTTP or HTTPS`)
  }
  const path = wirePath(optionalText(action['path'], `${key}: httpGet.path`))
  const headers = parseHeaders(action['httpHeaders'], `${key}: httpGet.httpHeaders`)
  return { kind: 'http', tls: scheme === 'HTTPS', host, port, path, headers }
}

function parseHeaders(value: unknown, where: string): readonly (readonly [string, string])[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new AppProbesError(`${where} must be a list`)
  return value.map((entry: unknown): [string, string] => {
    const header = object(entry, where)
    const name = optionalText(header['name'], where)
    const content = optionalText(header['value'], where)
    try {
      validateHeaderName(name)
      validateHeaderValue(name, content)
    } catch {
      throw new AppProbesError(`${where} contains the invalid header ${quoted(name)}`)
    }
    return [name, content]
  })
}

/** Escapes characters that a request line may not have; keeps existing escapes. */
function wirePath(path: string): string {
  const [target = ''] = path.split('#', 1)
  const rooted = target.startsWith('/') ? target : `/${target}`
  return rooted.replace(/[^\u0021-\u007e]/gu, (sign) =>
    Buffer.from(sign)
      .toString('hex')
      .replace(/../g, (byte) => `%${byte.toUpperCase()}`),
  )
}

function object(value: unknown, where: string): Fields {
  if (isRecord(value)) return value
  throw new AppProbesError(`${quoted(where)} must be an object`)
}

/** Returns the text; empty where there is none. */
function optionalText(value: unknown, where: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  throw new AppProbesError(`${where} must be a string`)
}

function whole(value: unknown, where: string, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) {
    return value
  }
  throw new AppProbesError(`${where} must be an integer from 1 to ${max}`)
}
