import { isRecord } from '../../../base/values.ts'
import { isModern } from '../../../mcp/protocol-version.ts'
import { toolHint } from '../choose-tools.ts'
import { endpointError } from './endpoint-error.ts'
import { ask, findProtocolVersion, openSession } from './lean-handshake.ts'
import { LeanWire, type SessionState } from './lean-wire.ts'
import type {
  CallBounds,
  CallResponse,
  Endpoint,
  HeldStream,
  LoadClient,
  ToolInfo,
} from './load-client.ts'
import type { LoadTarget } from '../load-options.ts'

const MAX_PAGES = 100
/** Limits the tools that are read. */
const MAX_TOOLS = 5000

/** Performs the handshake and lists the tools. Throws a `LoadError` when the target cannot be called. */
export async function openLeanEndpoint(target: LoadTarget, version: string): Promise<Endpoint> {
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
      connect: () => LeanClient.open(wire, sessionState.protocolVersion),
      close: () => wire.close(),
    }
  } catch (error) {
    await wire.close()
    throw error
  }
}

async function listTools(wire: LeanWire, sessionState: SessionState): Promise<ToolInfo[]> {
  const tools: ToolInfo[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const response = await ask(wire, 'tools/list', params, sessionState)
    if (response.kind === 'rpc' && response.code === -32601) return []
    if (response.kind !== 'ok' || !isRecord(response.result)) throw endpointError(response)
    const { tools: listed, nextCursor } = response.result
    for (const tool of Array.isArray(listed) ? (listed as readonly unknown[]) : []) {
      const info = toolInfo(tool)
      if (info !== undefined) tools.push(info)
    }
    if (typeof nextCursor !== 'string') return tools
    cursor = nextCursor
  }
  return tools
}

/** Reads a listed tool; undefined without a name. */
function toolInfo(tool: unknown): ToolInfo | undefined {
  if (!isRecord(tool)) return undefined
  const { name, inputSchema, outputSchema, annotations } = tool
  if (typeof name !== 'string' || name === '') return undefined
  return { name, inputSchema, outputSchema, hint: toolHint(annotations) }
}

/** A minimal client for high volume: one POST per call, no state between calls. */
export class LeanClient implements LoadClient {
  readonly #wire: LeanWire
  readonly #protocolVersion: string
  #sessionState: Promise<SessionState>

  private constructor(wire: LeanWire, sessionState: SessionState) {
    this.#wire = wire
    this.#protocolVersion = sessionState.protocolVersion
    this.#sessionState = Promise.resolve(sessionState)
  }

  /** Opens a session if the protocol version has sessions. */
  static async open(wire: LeanWire, protocolVersion: string): Promise<LeanClient> {
    if (isModern(protocolVersion))
      return new LeanClient(wire, { protocolVersion, session: undefined })
    const { sessionState } = await openSession(wire, protocolVersion)
    return new LeanClient(wire, sessionState)
  }

  async call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    bounds: CallBounds,
  ): Promise<CallResponse> {
    const current = this.#sessionState
    const sessionState = await current
    const params = { name: tool, arguments: args }
    const response = await this.#wire.ask('tools/call', params, sessionState, bounds)
    const lost =
      response.kind === 'http' && response.code === 404 && sessionState.session !== undefined
    // The session is lost: later calls begin a new session, as the protocol requires.
    if (lost && this.#sessionState === current) this.#sessionState = this.#reopen(sessionState)
    return response
  }

  async hold(signal: AbortSignal): Promise<HeldStream | undefined> {
    return this.#wire.hold(await this.#sessionState, signal)
  }

  async close(): Promise<void> {
    const sessionState = await this.#sessionState
    if (sessionState.session !== undefined) await this.#wire.end(sessionState)
  }

  async #reopen(before: SessionState): Promise<SessionState> {
    try {
      return (await openSession(this.#wire, this.#protocolVersion)).sessionState
    } catch {
      return before
    }
  }
}
