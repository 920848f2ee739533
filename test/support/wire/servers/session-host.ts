import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  StreamableHTTPServerTransport,
  type EventStore,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js'

import { RequestLog } from './request-log.ts'

/** A server that keeps a session per client, on a free port of the loopback interface. */
export interface SessionHost {
  readonly origin: string
  readonly url: string
  readonly requests: RequestLog
  /** The number of sessions that are open now. */
  readonly sessions: number
  /** The number of sessions that clients ended with a DELETE. */
  readonly ended: number
  /** Cuts the connections on which responses to POSTs are under way. */
  cutResponses(): void
  close(): Promise<void>
}

/** Options of a session host. */
export interface SessionHostOptions {
  /** Connects a new server to the transport of a new session. */
  connect(transport: StreamableHTTPServerTransport): Promise<void>
  eventStore?: EventStore
  /** The pause that clients are asked to make before they resume a stream. */
  retryMs?: number
}

/** Serves Streamable HTTP at /mcp, to callers that name a loopback host only. */
export async function hostSessions(options: SessionHostOptions): Promise<SessionHost> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const responding = new Set<ServerResponse>()
  const requests = new RequestLog()
  let ended = 0

  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => {
        ended += 1
        sessions.delete(id)
      },
      ...(options.eventStore && { eventStore: options.eventStore }),
      ...(options.retryMs !== undefined && { retryInterval: options.retryMs }),
    })
    await options.connect(transport)
    return transport
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!namesLoopback(request)) return refuse(response, 403, -32000, 'Host not allowed')
    if (request.url !== '/mcp') return refuse(response, 404, -32000, 'Not found')
    const id = request.headers['mcp-session-id']
    if (id === undefined) return (await open()).handleRequest(request, response)
    const transport = sessions.get(String(id))
    if (transport === undefined) return refuse(response, 404, -32001, 'Session not found')
    return transport.handleRequest(request, response)
  }

  const server = createServer((request, response) => {
    requests.add(request)
    if (request.method === 'POST') responding.add(response)
    response.once('close', () => responding.delete(response))
    handle(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    origin,
    url: `${origin}/mcp`,
    requests,
    get sessions() {
      return sessions.size
    },
    get ended() {
      return ended
    },
    cutResponses() {
      for (const response of responding) response.destroy()
    },
    async close() {
      await Promise.all([...sessions.values()].map((transport) => transport.close()))
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const loopback = new Set(['127.0.0.1', 'localhost', '[::1]'])

function namesLoopback(request: IncomingMessage): boolean {
  const { host, origin } = request.headers
  const named = [`http://${host ?? ''}`, ...(origin === undefined ? [] : [origin])]
  return named.every((url) => URL.canParse(url) && loopback.has(new URL(url).hostname))
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }))
}
