import { FIRST_MODERN_PROTOCOL_VERSION, isModern } from '#protocol'
import type { CallResponse, Endpoint, LoadClient, ToolInfo } from './load-client.ts'
import type { LoadTarget } from '../load-options.ts'
import { fieldsOf, isRecord, oneLine, UNTRUSTED } from '#base'
import { toolHint } from '../choose-tools.ts'
import { LeanWire, type SessionState, type WireResponse } from './lean-wire.ts'
import { LoadError } from '../load-error.ts'

/** Performs the handshake and prepares the chosen client. */
export async function openEndpoint(target: LoadTarget, version: string): Promise<Endpoint> {
  const endpoint = await openLeanEndpoint(target, version)
  if (target.client === 'lean') return endpoint
  try {
    const modern = isModern(endpoint.protocolVersion)
    const { loadSdkV1, loadSdkV2 } = await import('./sdk-clients.ts')
    if (target.client === 'sdk-v2') {
      return { ...endpoint, connect: await loadSdkV2(target, version, modern) }
    }
    const connect = await loadSdkV1(target, version)
    // The SDK of version 1 supports no newer protocol version.
    return {
      ...endpoint,
      connect,
      protocolVersion: modern ? LAST_SESSION_PROTOCOL_VERSION : endpoint.protocolVersion,
    }
  } catch (error) {
    await endpoint.close()
    throw error
  }
}

const MAX_PAGES = 100
/** Limits the tools that are read. */
const MAX_TOOLS = 5000
const MAX_DESCRIPTION = 200
/** Limits the schemas of the tools that are kept, in characters of JSON. */
const MAX_SCHEMAS = 16 * 1024 * 1024

/**
 * Performs the handshake and lists the tools. Throws a `LoadError` when the target cannot be
 * called.
 */
async function openLeanEndpoint(target: LoadTarget, version: string): Promise<Endpoint> {
  const wire = new LeanWire(target, version)
  try {
    const { server, sessionState } = await findProtocolVersion(wire, target.protocolVersion)
    const tools = await listTools(wire, sessionState)
    if (!isModern(sessionState.protocolVersion) && sessionState.session !== undefined)
      await wire.end(sessionState)
    return {
      server,
      protocolVersion: sessionState.protocolVersion,
      tools,
      connect: () => openLeanClient(wire, sessionState.protocolVersion),
      close: () => wire.close(),
    }
  } catch (error) {
    await wire.close()
    throw error
  }
}

async function listTools(wire: LeanWire, sessionState: SessionState): Promise<ToolInfo[]> {
  const tools: ToolInfo[] = []
  let size = 0
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const response = await ask(wire, 'tools/list', params, sessionState)
    if (response.kind === 'rpc' && response.code === -32601) return []
    if (response.kind !== 'ok' || !isRecord(response.result)) throw endpointError(response)
    const { tools: listed, nextCursor } = response.result
    for (const tool of Array.isArray(listed) ? (listed as readonly unknown[]) : []) {
      if (tools.length >= MAX_TOOLS) return tools
      const info = toolInfo(tool)
      if (info === undefined) continue
      size += JSON.stringify([info.inputSchema, info.outputSchema]).length
      if (size > MAX_SCHEMAS) return tools
      tools.push(info)
    }
    if (typeof nextCursor !== 'string') return tools
    cursor = nextCursor
  }
  return tools
}

/** Reads a listed tool; undefined without a name. */
function toolInfo(tool: unknown): ToolInfo | undefined {
  if (!isRecord(tool)) return undefined
  const { name, description, inputSchema, outputSchema, annotations } = tool
  if (typeof name !== 'string' || name === '') return undefined
  const begin = typeof description === 'string' ? oneLine(description, MAX_DESCRIPTION) : undefined
  const hint = toolHint(annotations)
  return { name, description: begin, inputSchema, outputSchema, hint }
}

/**
 * Opens a minimal client for high volume: one POST per call, no state between calls but the session,
 * which it begins if the protocol version has sessions.
 */
async function openLeanClient(wire: LeanWire, asked: string): Promise<LoadClient> {
  const first = isModern(asked)
    ? { protocolVersion: asked, session: undefined }
    : (await openSession(wire, asked)).sessionState
  let state: Promise<SessionState> = Promise.resolve(first)
  const reopened = async (before: SessionState): Promise<SessionState> => {
    const opened = await openSession(wire, first.protocolVersion).catch(() => undefined)
    return opened?.sessionState ?? before
  }
  return {
    call: async (tool, args, bounds) => {
      const current = state
      const sessionState = await current
      const params = { name: tool, arguments: args }
      const response = await wire.ask('tools/call', params, sessionState, bounds)
      const lost =
        response.kind === 'http' && response.code === 404 && sessionState.session !== undefined
      // The session is lost: later calls begin a new session, as the protocol requires.
      if (lost && state === current) state = reopened(sessionState)
      return response
    },
    hold: async (signal) => wire.hold(await state, signal),
    close: async () => {
      const sessionState = await state
      if (sessionState.session !== undefined) await wire.end(sessionState)
    },
  }
}

const LAST_SESSION_PROTOCOL_VERSION = '2025-11-25'

const TIMEOUT_MS = 10_000
/** The errors of stateless servers for requests that they understand and reject. */
const MODERN_ERRORS = new Set([-32020, -32021, -32022])

/** Negotiates the protocol version: the newest version is tried first, as clients do. */
export async function findProtocolVersion(wire: LeanWire, wanted: string | undefined) {
  if (wanted === undefined || isModern(wanted)) {
    const version = wanted ?? FIRST_MODERN_PROTOCOL_VERSION
    const sessionState = { protocolVersion: version, session: undefined }
    const response = await ask(wire, 'server/discover', {}, sessionState)
    if (response.kind === 'ok') return { server: discoveredName(response), sessionState }
    if (response.kind !== 'http' && response.kind !== 'rpc') throw endpointError(response)
    const rejected = response.code === 401 || response.code === 403 || (response.code ?? 0) >= 500
    if (rejected || MODERN_ERRORS.has(response.code ?? 0)) throw endpointError(response)
    if (wanted !== undefined) throw endpointError(response)
  }
  return openSession(wire, wanted ?? LAST_SESSION_PROTOCOL_VERSION)
}

/** Begins a session. Throws a `LoadError`. */
async function openSession(wire: LeanWire, wanted: string) {
  const params = { protocolVersion: wanted, capabilities: {}, clientInfo: wire.clientInfo }
  const response = await ask(wire, 'initialize', params, undefined)
  if (response.kind !== 'ok' || !isRecord(response.result)) throw endpointError(response)
  const { protocolVersion, serverInfo } = response.result
  const version = typeof protocolVersion === 'string' ? protocolVersion : wanted
  const sessionState = { protocolVersion: version, session: response.session }
  await wire.notify('notifications/initialized', sessionState)
  return { server: nameOf(serverInfo), sessionState }
}

/** Sends a request before the load begins. */
function ask(
  wire: LeanWire,
  method: string,
  params: Readonly<Record<string, unknown>>,
  sessionState: SessionState | undefined,
): Promise<WireResponse> {
  const signal = new AbortController().signal
  return wire.ask(method, params, sessionState, { timeoutMs: TIMEOUT_MS, signal })
}

function discoveredName({ result }: CallResponse): string {
  const { serverInfo, _meta } = fieldsOf(result)
  return nameOf(serverInfo ?? fieldsOf(_meta)['io.modelcontextprotocol/serverInfo'])
}

/** Formats the name and version of a server in printable characters. */
function nameOf(serverInfo: unknown): string {
  if (!isRecord(serverInfo)) return 'unnamed'
  const words = [serverInfo['name'], serverInfo['version']].filter(
    (word) => typeof word === 'string',
  )
  const text = oneLine(words.join(' '), 100)
  return text === '' ? 'unnamed' : text
}

/** Describes why the handshake failed, and how to fix the cause. */
function endpointError({ kind, code, message = '' }: CallResponse): LoadError {
  const reason = oneLine(message, 120)
  switch (kind) {
    case 'refused':
      return new LoadError(
        'UNREACHABLE',
        `the target cannot be reached (${reason})`,
        'check host and port of --target, and that the server runs',
      )
    case 'timeout':
      return new LoadError(
        'UNREACHABLE',
        'the target did not respond to the handshake',
        'check that --target is the MCP endpoint, and that the server is responsive',
      )
    case 'reset':
    case 'incomplete':
      if (UNTRUSTED.test(message)) {
        return new LoadError(
          'UNREACHABLE',
          `the certificate of the target is not trusted (${reason})`,
          'set NODE_EXTRA_CA_CERTS to the CA file',
        )
      }
      return new LoadError(
        'UNREACHABLE',
        `the target closed the connection during the handshake (${reason})`,
        'check the scheme (http or https) and the port of --target',
      )
    case 'http':
      return statusError(code ?? 0, reason)
    case 'malformed':
      return new LoadError(
        'NOT_MCP',
        `the target is not an MCP server: ${reason}`,
        'pass the URL of the MCP endpoint itself, such as http://localhost:3000/mcp',
      )
    case 'rpc':
    case 'tool':
    case 'breaker':
    case 'ok':
    default:
      return new LoadError(
        'HANDSHAKE_FAILED',
        `the server rejected the handshake (${code ?? 'no code'}: ${reason})`,
        'choose another protocol version with --protocol-version',
      )
  }
}

function statusError(status: number, reason: string): LoadError {
  if (status === 401 || status === 403) {
    return new LoadError(
      'NEEDS_AUTH',
      `the target requires authentication (status ${status})`,
      'pass a token with --auth-token-file, or a header with --header',
    )
  }
  if (status === 404 || status === 405) {
    return new LoadError(
      'NOT_MCP',
      `no MCP endpoint at this path (status ${status})`,
      'pass the full URL including its path, such as http://localhost:3000/mcp',
    )
  }
  return new LoadError(
    'HANDSHAKE_FAILED',
    `the server responded to the handshake with status ${status}${reason === '' ? '' : `: ${reason}`}`,
    'check the server log, and that no rule matches `initialize`',
  )
}
