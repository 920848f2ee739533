import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { fieldsOf } from '#base'
import { DEMO_TOOLS, type Ending, listed, plannedEnding } from './demo-tools.ts'

const REBIND_TRIES = 40
const REBIND_PAUSE = 50

/** A small MCP server: Streamable HTTP at /mcp, with tools that fail by a known script. */
export class DemoServer {
  /** Calls by tool and ending while the server fails: the truth that other counts are compared with. */
  readonly truth = new Map<string, Partial<Record<Ending, number>>>()
  /** True when calls fail by the script. */
  failing = false
  #server: Server | undefined
  #port = 0

  get port(): number {
    return this.#port
  }

  /** Listens on the previous port, or on a free one. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#listen()
        return
      } catch (error) {
        // Between two starts the system may have given the port to another connection.
        if (tries === REBIND_TRIES) throw error
        await wait(REBIND_PAUSE)
      }
    }
  }

  /** Stops like a killed process: every connection breaks. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }

  async #listen(): Promise<void> {
    const server = createServer((request, response) => {
      // A clock in the response would make two equal responses differ.
      response.sendDate = false
      response.on('error', () => {})
      this.#handle(request, response).catch(() => response.writeHead(400).end())
    })
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url !== '/mcp') response.writeHead(404).end()
    else if (request.method === 'GET') response.writeHead(200, EVENT_STREAM).flushHeaders()
    else if (request.method !== 'POST') response.writeHead(405, { Allow: 'GET, POST' }).end()
    else {
      const message = fieldsOf(await json(request)) as Message
      if (message.method !== 'tools/call') respond(response, message.id, replyTo(message.method))
      else await respondToCall(message, this.#ending(String(message.params?.name)), response)
    }
  }

  #ending(tool: string): Ending {
    if (!this.failing) return 'ok'
    const row = this.truth.get(tool) ?? {}
    const calls = Object.values(row).reduce((sum, count) => sum + count, 1)
    const ending = plannedEnding(tool, calls)
    this.truth.set(tool, { ...row, [ending]: (row[ending] ?? 0) + 1 })
    return ending
  }
}

/** The fields of a message that the server reads; any of them may be missing. */
interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: Readonly<Record<string, unknown>>
    readonly _meta?: { readonly progressToken?: string | number }
  }
}

const EVENT_STREAM = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' }
const FAILED = { content: [{ type: 'text', text: 'nothing could be done' }], isError: true }

/** Returns the response to everything that is not a tool call. */
function replyTo(method: string | undefined): object {
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'squall-demo-server', version: '1.0.0' }
      const capabilities = { tools: {}, logging: {} }
      return { result: { protocolVersion: '2025-11-25', capabilities, serverInfo } }
    }
    case 'tools/list':
      return { result: { tools: DEMO_TOOLS.map(listed) } }
    case 'ping':
      return { result: {} }
    case undefined:
    default:
      return { error: { code: -32601, message: 'Method not found' } }
  }
}

/** Responds to a tool call with its planned ending. */
async function respondToCall(
  { id, params }: Message,
  ending: Ending,
  response: ServerResponse,
): Promise<void> {
  const tool = DEMO_TOOLS.find(({ name }) => name === params?.name)
  await nextTurn()
  // Before the first byte: bytes and a reset that are read at once look like an orderly end.
  if (ending === 'reset') response.socket?.resetAndDestroy()
  else if (ending === 'http') {
    response.writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '1' }).end('busy\n')
  } else if (ending === 'rpc') {
    respond(response, id, { error: { code: -32603, message: 'the database is down' } })
  } else if (tool === undefined) {
    respond(response, id, { error: { code: -32602, message: 'Unknown tool' } })
  } else {
    const text = String(params?.arguments?.[tool.argument])
    const result = ending === 'tool' ? FAILED : tool.response(text)
    if (tool.steps === undefined) return respond(response, id, { result })
    response.writeHead(200, EVENT_STREAM)
    for (let step = 1; step <= tool.steps; step++) {
      const progressToken = params?._meta?.progressToken ?? id
      const progress = { progressToken, progress: step, total: tool.steps }
      response.write(event({ method: 'notifications/progress', params: progress }))
      await nextTurn()
    }
    response.end(event({ id, result }))
  }
}

function event(message: object): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

/** Sends a response; a notification has no id, and gets none. */
function respond(response: ServerResponse, id: Message['id'], reply: object): void {
  if (id === undefined) return void response.writeHead(202).end()
  const body = JSON.stringify({ jsonrpc: '2.0', id, ...reply })
  const head = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  response.writeHead(200, head).end(body)
}
