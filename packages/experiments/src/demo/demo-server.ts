import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { respondToCall, responseMethod, type Request } from './demo-responses.ts'
import { plannedEnding } from './demo-tools.ts'
import { Counts, ENDING_KEYS, type EndingCounts } from './counts.ts'

const MAX_BODY = 1024 * 1024
const REBIND_TRIES = 40
const REBIND_PAUSE = 50

/** A small MCP server: Streamable HTTP at /mcp, with tools that fail by a known script. */
export class DemoServer {
  /** The server's own counts: the truth that other counts are compared with. */
  readonly truth: EndingCounts = new Counts(ENDING_KEYS)
  /** True when calls fail by the script. */
  failing = false
  #server: Server | undefined
  #port = 0
  readonly #nth = new Map<string, number>()
  readonly #pushes = new Set<ServerResponse>()

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
    this.#pushes.clear()
  }

  /** Sends a notification on every stream that clients hold open. */
  push(data: string): void {
    const params = { level: 'info', data }
    const message = { jsonrpc: '2.0', method: 'notifications/message', params }
    for (const stream of this.#pushes) stream.write(`data: ${JSON.stringify(message)}\n\n`)
  }

  async #listen(): Promise<void> {
    const server = createServer((request, response) => this.#handle(request, response))
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    // A clock in the response would make two equal responses differ.
    response.sendDate = false
    response.on('error', () => {})
    if (request.url !== '/mcp') response.writeHead(404).end()
    else if (request.method === 'GET') this.#stream(response)
    else if (request.method !== 'POST') response.writeHead(405, { Allow: 'GET, POST' }).end()
    else this.#read(request, response)
  }

  #stream(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.flushHeaders()
    this.#pushes.add(response)
    response.on('close', () => this.#pushes.delete(response))
  }

  #read(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    let size = 0
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_BODY) request.destroy()
      else chunks.push(chunk)
    })
    request.on('end', () => {
      let message: Request
      try {
        message = JSON.parse(Buffer.concat(chunks).toString()) as Request
      } catch {
        response.writeHead(400).end()
        return
      }
      if (message?.method !== 'tools/call') {
        responseMethod(message ?? {}, response)
        return
      }
      const tool = String(message.params?.name)
      const nth = (this.#nth.get(tool) ?? 0) + 1
      if (this.failing) this.#nth.set(tool, nth)
      const ending = this.failing ? plannedEnding(tool, nth) : 'ok'
      this.truth.add(tool, { calls: 1, [ending]: 1 })
      respondToCall(message, ending, response)
    })
  }
}
