import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { type Guard, originGuard, readGuard } from '#admin-api'
import type { ListenAddress } from '#protocol'
import { ownHosts } from '#cli'
import { bind } from '#sidecar'

/** The path of the MCP endpoint. */
export const PATH = '/mcp'
const MAX_BODY = 1024 * 1024
const MAX_CONNECTIONS = 256
const MAX_SESSIONS = 64
const IDLE_MS = 3_600_000
const HEADER_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Serves MCP over Streamable HTTP. Every request needs the token, which only a loopback address may
 * lack. Throws a `BindError`.
 */
export async function listenHttp(
  address: ListenAddress,
  token: string | undefined,
  create: () => McpServer,
) {
  const sessions = new Sessions(create)
  const modern = createMcpHandler(create, { legacy: 'reject', maxRequestBodySize: MAX_BODY })
  const fetch = async (request: Request): Promise<Response> => {
    const isOld = await isLegacyRequest(request, undefined, { maxRequestBodySize: MAX_BODY })
    return isOld ? sessions.fetch(request) : modern.fetch(request)
  }
  const serve = toNodeHandler({ fetch }, { maxRequestBodySize: MAX_BODY })
  // With a token, the host does not matter.
  const access = { readToken: token, hosts: ownHosts(address), hostFix: 'set --token-file' }
  const guards = [originGuard(), readGuard(access)]
  const server = createServer(
    { headersTimeout: HEADER_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      response.on('error', () => {})
      if (!isDenied(request, response, guards)) {
        sessions.hold(request.headers['mcp-session-id'], response)
        serve(request as NodeIncomingMessageLike, response).catch(() => response.destroy())
      }
    },
  )
  server.maxConnections = MAX_CONNECTIONS
  const bound = await bind(server, address)
  return {
    address: bound,
    close: async () => {
      await Promise.all([sessions.close(), modern.close()])
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

function isDenied(
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
  guards: readonly Guard[],
): boolean {
  const denied = guards.map((guard) => guard(headers)).find((each) => each !== undefined)
  const isFound = url.split('?')[0] === PATH
  if (denied === undefined && isFound) return false
  const { status = 404, type = 'application/json', headers: more = {} } = denied ?? {}
  const body = denied === undefined ? `{"error":"not found, use ${PATH}"}\n` : String(denied.body)
  response.writeHead(status, { 'content-type': type, connection: 'close', ...more }).end(body)
  return true
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: McpServer
  lastUsed: number
  /** The number of its requests without a complete response. */
  open: number
}

/** The sessions of clients of protocol versions before 2026-07-28. */
class Sessions {
  readonly #create: () => McpServer
  readonly #sessions = new Map<string, Session>()

  constructor(create: () => McpServer) {
    this.#create = create
  }

  /** Keeps a session until a response of it has ended. */
  hold(id: unknown, response: ServerResponse): void {
    const session = this.#sessions.get(String(id))
    if (session === undefined) return
    session.open++
    response.on('close', () => {
      session.open--
      session.lastUsed = performance.now()
    })
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) return this.#begin(request)
    const session = this.#sessions.get(id)
    if (session === undefined) return failure(404, -32_001, 'unknown session; send initialize')
    return session.transport.handleRequest(request)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()))
  }

  async #begin(request: Request): Promise<Response> {
    await this.#makeRoom()
    if (this.#sessions.size >= MAX_SESSIONS) {
      return failure(503, -32_000, 'too many sessions; end one with DELETE')
    }
    const server = this.#create()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: MAX_BODY,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { transport, server, lastUsed: performance.now(), open: 0 })
      },
      onsessionclosed: (id) => void this.#sessions.delete(id),
    })
    await server.connect(transport)
    const response = await transport.handleRequest(request)
    if (transport.sessionId === undefined) await server.close()
    return response
  }

  /** Ends sessions that were idle for long and, when there are too many, longest. */
  async #makeRoom(): Promise<void> {
    const oldest = performance.now() - IDLE_MS
    const idle = [...this.#sessions].filter(([, { open }]) => open === 0)
    idle.sort(([, one], [, other]) => one.lastUsed - other.lastUsed)
    for (const [id, session] of idle) {
      const { server, lastUsed } = session
      if (lastUsed > oldest && this.#sessions.size < MAX_SESSIONS) return
      if (session.open > 0) continue
      this.#sessions.delete(id)
      await server.close()
    }
  }
}

function failure(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })
}
