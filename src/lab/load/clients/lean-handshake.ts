import { isRecord } from '../../../base/values.ts'
import { oneLine } from '../../../base/text/foreign-text.ts'
import { FIRST_MODERN_PROTOCOL_VERSION, isModern } from '../../../mcp/protocol-version.ts'
import { endpointError } from './endpoint-error.ts'
import type { CallResponse } from './load-client.ts'
import type { LeanWire, SessionState } from './lean-wire.ts'

export const LAST_SESSION_PROTOCOL_VERSION = '2025-11-25'

const TIMEOUT_MS = 10_000
/** The errors of stateless servers for requests that they understand and reject. */
const MODERN_ERRORS = new Set([-32020, -32021, -32022])

export interface Handshake {
  readonly server: string
  readonly sessionState: SessionState
}

/** Negotiates the protocol version: the newest version is tried first, as clients do. */
export async function findProtocolVersion(
  wire: LeanWire,
  wanted: string | undefined,
): Promise<Handshake> {
  if (wanted === undefined || isModern(wanted)) {
    const version = wanted ?? FIRST_MODERN_PROTOCOL_VERSION
    const response = await ask(
      wire,
      'server/discover',
      {},
      { protocolVersion: version, session: undefined },
    )
    if (response.kind === 'ok') return discovered(response, version)
    if (response.kind !== 'http' && response.kind !== 'rpc') throw endpointError(response)
    const refused = response.code === 401 || response.code === 403 || (response.code ?? 0) >= 500
    if (refused || MODERN_ERRORS.has(response.code ?? 0)) throw endpointError(response)
    if (wanted !== undefined) throw endpointError(response)
  }
  return openSession(wire, wanted ?? LAST_SESSION_PROTOCOL_VERSION)
}

/** Begins a session. Throws a `LoadError`. */
export async function openSession(wire: LeanWire, wanted: string): Promise<Handshake> {
  const params = { protocolVersion: wanted, capabilities: {}, clientInfo: wire.clientInfo }
  const response = await ask(wire, 'initialize', params, undefined)
  if (response.kind !== 'ok' || !isRecord(response.result)) throw endpointError(response)
  const { protocolVersion, serverInfo } = response.result
  const version = typeof protocolVersion === 'string' ? protocolVersion : wanted
  const sessionState = { protocolVersion: version, session: response.session }
  await wire.tell('notifications/initialized', sessionState)
  return { server: nameOf(serverInfo), sessionState }
}

/** Sends a request before the load begins. */
export function ask(
  wire: LeanWire,
  method: string,
  params: Readonly<Record<string, unknown>>,
  sessionState: SessionState | undefined,
): Promise<CallResponse & { readonly session?: string }> {
  const signal = new AbortController().signal
  return wire.ask(method, params, sessionState, { timeoutMs: TIMEOUT_MS, signal })
}

function discovered({ result }: CallResponse, version: string): Handshake {
  const { serverInfo, _meta } = isRecord(result) ? result : {}
  const fromMeta: unknown = isRecord(_meta)
    ? _meta['io.modelcontextprotocol/serverInfo']
    : undefined
  return {
    server: nameOf(serverInfo ?? fromMeta),
    sessionState: { protocolVersion: version, session: undefined },
  }
}

/** Formats the name and version of a server in printable characters. */
export function nameOf(serverInfo: unknown): string {
  if (!isRecord(serverInfo)) return 'unnamed'
  const words = [serverInfo['name'], serverInfo['version']].filter(
    (word) => typeof word === 'string',
  )
  const text = oneLine(words.join(' '), 100)
  return text === '' ? 'unnamed' : text
}
