import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { json } from 'node:stream/consumers'
import { z } from 'zod'

/** A server of the TypeScript SDK with sessions, whose tools search and create tickets. */
export interface TicketServer {
  readonly listener: RequestListener
  /** The titles of the tickets, in their order. */
  readonly tickets: readonly string[]
  /** When searches were executed, in milliseconds since 1970. */
  readonly searches: readonly number[]
}

/** Returns the server. With `keys`, a ticket needs a key, and a second call with it makes none. */
export function ticketServer({ keys }: { readonly keys: boolean }): TicketServer {
  const tickets: string[] = []
  const searches: number[] = []
  const known = new Set<string>()
  const listener = sessionServer(() => {
    const server = new McpServer({ name: 'tickets', version: '1.0.0' })
    server.registerTool(
      'search_docs',
      { inputSchema: { query: z.string() }, annotations: { readOnlyHint: true } },
      () => {
        searches.push(Date.now())
        return { content: [{ type: 'text', text: 'found' }] }
      },
    )
    server.registerTool(
      'create_ticket',
      {
        inputSchema: {
          title: z.string(),
          idempotency_key: keys ? z.string() : z.string().optional(),
        },
        annotations: { idempotentHint: keys },
      },
      ({ title, idempotency_key: key = randomUUID() }) => {
        if (!known.has(key)) tickets.push(title)
        known.add(key)
        return { content: [{ type: 'text', text: 'created' }] }
      },
    )
    return server
  })
  return { tickets, searches, listener }
}

/** Serves MCP over HTTP, with a server for each session. */
export function sessionServer(create: () => McpServer): RequestListener {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const begin = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await create().connect(transport)
    return transport
  }
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? await json(request) : undefined
    const opened = sessions.get(String(request.headers['mcp-session-id']))
    const transport = opened ?? (isInitializeRequest(body) ? await begin() : undefined)
    if (transport === undefined) response.writeHead(404).end()
    else await transport.handleRequest(request, response, body)
  }
  return (request, response) => void respond(request, response)
}
