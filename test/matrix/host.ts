import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { MemoryEventStore } from '../support/wire/servers/event-store.ts'
import { failAtResponse } from './failing-response.ts'
import { legacyServer } from './legacy-server.ts'
import { modernServer } from './modern-server.ts'
import { REAL_FAILURES, type RealFailure, type RealFailureName } from './real-failures.ts'
import type { SettingId } from './settings.ts'

/** A real server of one setting, which can be asked to really fail. */
export interface Host {
  readonly origin: string
  /** Returns the number of executions of a tool. */
  ran(tool: string): number
  close(): Promise<void>
}

/** Serves one HTTP exchange, whose body has been read. */
interface Site {
  serve(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>
  /** Where the response to a call comes by. */
  responding(request: IncomingMessage, response: ServerResponse): ServerResponse
  forget(request: IncomingMessage): void
  close(): Promise<void>
}

type Ran = (tool: string) => void

/** Starts the server on a free port of the loopback interface. */
export async function matrixServer(setting: SettingId): Promise<Host> {
  const runs = new Map<string, number>()
  const ran: Ran = (tool) => void runs.set(tool, (runs.get(tool) ?? 0) + 1)
  const site = siteOf(setting, ran)
  const failed = new Set<unknown>()

  /** Each cell fails once. */
  const failureOf = (request: IncomingMessage, call: Message): RealFailure | undefined => {
    const { 'x-fail-by': name } = request.headers
    const tool = call.params?.name
    if (typeof name !== 'string' || call.method !== 'tools/call' || tool === 'next')
      return undefined
    if (failed.has(tool)) return undefined
    failed.add(tool)
    return REAL_FAILURES[name as RealFailureName]
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? (JSON.parse(await text(request)) as Message) : {}
    const failure = failureOf(request, body)
    if (failure?.instead !== undefined) return failure.instead(response)
    if (failure?.forgets === true) site.forget(request)
    if (failure?.beforeResponse !== undefined) {
      failAtResponse(site.responding(request, response), failure)
    }
    return site.serve(request, response, request.method === 'POST' ? body : undefined)
  }
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  // An idle connection that ends while it is used again would be a failure that nobody asked for.
  server.keepAliveTimeout = 120_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ran: (tool) => runs.get(tool) ?? 0,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await site.close()
    },
  }
}

interface Message {
  readonly method?: string
  readonly params?: { readonly name?: string }
}

function siteOf(setting: SettingId, ran: Ran): Site {
  if (setting === 'push') return pushSite(ran)
  if (setting === 'modern-json') return modernSite(ran, 'json')
  if (setting === 'modern-sse') return modernSite(ran, 'sse')
  return sessionSite(ran, setting)
}

function modernSite(ran: Ran, responseMode: 'json' | 'sse'): Site {
  const handler = createMcpHandler(() => modernServer(ran), { responseMode })
  const serve = toNodeHandler(handler)
  return {
    serve: (request, response, body) => serve(request as NodeIncomingMessageLike, response, body),
    responding: (_, response) => response,
    forget: () => undefined,
    close: () => handler.close(),
  }
}

function sessionSite(ran: Ran, setting: SettingId): Site {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const idOf = (request: IncomingMessage): string => String(request.headers['mcp-session-id'])
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      enableJsonResponse: setting === 'json',
      ...(setting === 'resumable' && { eventStore: new MemoryEventStore(), retryInterval: 30 }),
    })
    await legacyServer(ran).connect(transport)
    return transport
  }
  return {
    async serve(request, response, body) {
      if (request.headers['mcp-session-id'] === undefined) {
        const method = (body as { method?: string } | undefined)?.method
        // A server without 2026-07-28 knows no such request before the handshake.
        if (method !== 'initialize') return refuse(response, 400, -32000, 'No session')
        return (await open()).handleRequest(request, response, body)
      }
      const transport = sessions.get(idOf(request))
      if (transport === undefined) return refuse(response, 404, -32001, 'Session not found')
      return transport.handleRequest(request, response, body)
    },
    responding: (_, response) => response,
    forget: (request) => void sessions.delete(idOf(request)),
    close: async () => void (await Promise.all([...sessions.values()].map((one) => one.close()))),
  }
}

function pushSite(ran: Ran): Site {
  const sessions = new Map<string, { transport: SSEServerTransport; stream: ServerResponse }>()
  const idOf = (request: IncomingMessage): string =>
    new URL(request.url ?? '', 'http://app').searchParams.get('sessionId') ?? ''
  return {
    async serve(request, response, body) {
      if (request.method === 'GET') {
        const transport = new SSEServerTransport('/message', response)
        sessions.set(transport.sessionId, { transport, stream: response })
        return legacyServer(ran).connect(transport)
      }
      const session = sessions.get(idOf(request))
      if (session === undefined) return refuse(response, 404, -32001, 'Session not found')
      return session.transport.handlePostMessage(request, response, body)
    },
    responding: (request, response) => sessions.get(idOf(request))?.stream ?? response,
    forget: (request) => void sessions.delete(idOf(request)),
    close: async () => undefined,
  }
}

async function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
): Promise<void> {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }))
}
