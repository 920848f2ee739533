import { Agent, request } from 'undici'
import type { RequestListener, ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import { SseFramer } from '../../src/mcp/sse-framer.ts'

export const TRANSPORTS = ['json', 'sse', 'http+sse', '2026-07-28'] as const
export type Transport = (typeof TRANSPORTS)[number]
export type Key = 'header' | 'trace' | 'meta' | 'session' | 'client'

/** An upstream of every transport, which counts executions by the name of the task. */
export function agentUpstream() {
  const executed = new Map<string, number>()
  const streams = new Map<string, ServerResponse>()
  const held = new Map<string, () => void>()
  const arrived = new Map<string, () => void>()
  const result = async (method: string, params: Params): Promise<object> => {
    if (method === 'initialize') {
      const serverInfo = { name: 's', version: '1' }
      return { protocolVersion: '2025-06-18', capabilities: {}, serverInfo }
    }
    if (method !== 'tools/call') return { tools: [{ name: 'a', inputSchema: { type: 'object' } }] }
    const { task = '', hold } = params.arguments ?? {}
    if (hold === true) {
      await new Promise<void>((resolve) => {
        held.set(task, resolve)
        arrived.get(task)?.()
      })
    } else executed.set(task, (executed.get(task) ?? 0) + 1)
    return { content: [{ type: 'text', text: 'ok' }] }
  }
  const listener: RequestListener = (req, res) => {
    if (req.method === 'GET') {
      const id = randomUUID()
      streams.set(id, res)
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(`event: endpoint\ndata: /message?sessionId=${id}\n\n`)
      return
    }
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const { id, method, params = {} } = JSON.parse(body) as Message
      const stream = streams.get(new URL(req.url!, 'http://a').searchParams.get('sessionId') ?? '')
      const session = method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
      const respond = async (): Promise<void> => {
        const value = await result(method, params)
        const message = JSON.stringify({ jsonrpc: '2.0', id, result: value })
        if (stream !== undefined) {
          res.writeHead(202).end()
          stream.write(`data: ${message}\n\n`)
        } else if (req.headers.accept?.startsWith('text/event-stream') === true) {
          res.writeHead(200, { 'content-type': 'text/event-stream', ...session })
          res.end(`data: ${message}\n\n`)
        } else {
          res.writeHead(200, { 'content-type': 'application/json', ...session }).end(message)
        }
      }
      void respond()
    })
  }
  return {
    listener,
    executed: (task: string) => executed.get(task) ?? 0,
    /** Resolves when the upstream holds a call of the task. */
    holds: (task: string) => new Promise<void>((resolve) => arrived.set(task, resolve)),
    release: (task: string) => held.get(task)?.(),
  }
}

interface Params {
  readonly arguments?: { readonly task?: string; readonly hold?: boolean }
}
interface Message {
  readonly id: number
  readonly method: string
  readonly params?: Params
}

/** An agent that does as its script says, by one transport, with one key for its task. */
export class ScriptedAgent {
  readonly #url: string
  readonly #transport: Transport
  readonly #key: Key
  readonly #task: string
  readonly #trace = randomUUID().replaceAll('-', '')
  readonly #waiting = new Map<number, (isOk: boolean) => void>()
  readonly #connections = new Agent()
  #session: string | undefined
  #endpoint: string | undefined
  #id = 0

  constructor(url: string, transport: Transport, key: Key, task: string) {
    this.#url = url
    this.#transport = transport
    this.#key = key
    this.#task = task
  }

  /** Opens the stream or the session; without a key for it, a server has no sessions. */
  async open(): Promise<void> {
    if (this.#transport === 'http+sse') await this.#listen()
    if (this.#transport !== '2026-07-28') await this.begin()
  }

  /** Begins a session, as a client does that lost its own. */
  async begin(): Promise<void> {
    this.#session = undefined
    if (this.#transport === 'http+sse') await this.#listen()
    if (this.#transport === '2026-07-28') await this.ask('server/discover', {})
    else await this.ask('initialize', { protocolVersion: '2025-06-18', clientInfo: CLIENT })
  }

  /** Calls a tool; `hit` asks for the fault. */
  call(tool: string, args: object, hit = false): Promise<boolean> {
    return this.ask('tools/call', { name: tool, arguments: { task: this.#task, ...args } }, hit)
  }

  /** Sends a request; resolves to true when it ended well. */
  async ask(method: string, params: object, hit = false): Promise<boolean> {
    const id = ++this.#id
    const isModern = this.#transport === '2026-07-28'
    const meta = {
      ...(params as { readonly _meta?: object })._meta,
      ...(this.#key === 'meta' && { 'example.com/task': this.#task }),
      ...(isModern && { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: CLIENT }),
    }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, ...(Object.keys(meta).length > 0 && { _meta: meta }) },
    })
    const responded = new Promise<boolean>((resolve) => this.#waiting.set(id, resolve))
    const path = this.#endpoint ?? '/mcp'
    const response = await request(`${this.#url}${path}`, {
      method: 'POST',
      dispatcher: this.#connections,
      headers: this.#headers(hit, method, params),
      body,
    })
    const text = await response.body.text()
    if (method === 'initialize' && this.#key === 'session') {
      this.#session = String(response.headers['mcp-session-id'] ?? '') || undefined
    }
    if (response.statusCode === 202) return responded
    this.#waiting.delete(id)
    return response.statusCode === 200 && text.includes('"result"') && !text.includes('isError')
  }

  close(): Promise<void> {
    return this.#connections.destroy()
  }

  #headers(hit: boolean, method: string, params: object): Record<string, string> {
    const isModern = this.#transport === '2026-07-28'
    const { name } = params as { readonly name?: string }
    return {
      'content-type': 'application/json',
      accept:
        this.#transport === 'sse'
          ? 'text/event-stream, application/json'
          : 'application/json, text/event-stream',
      'user-agent': `agent ${this.#task}`,
      ...(hit && { 'x-hit': 'yes' }),
      ...(this.#key === 'header' && { 'x-task-id': this.#task }),
      ...(this.#key === 'trace' && { traceparent: `00-${this.#trace}-00f067aa0ba902b7-01` }),
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      ...(isModern && { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }),
      ...(isModern && name !== undefined && { 'mcp-name': name }),
    }
  }

  async #listen(): Promise<void> {
    const { body } = await request(`${this.#url}/sse`, {
      dispatcher: this.#connections,
      headers: { accept: 'text/event-stream', 'user-agent': `agent ${this.#task}` },
    })
    const framer = new SseFramer(1 << 20)
    await new Promise<void>((resolve) => {
      body.on('error', () => undefined)
      body.on('data', (chunk: Buffer) =>
        framer.push(chunk, ({ data, event }) => {
          if (event === 'endpoint') {
            this.#endpoint = data
            resolve()
          } else if (data !== undefined) {
            const message = JSON.parse(data) as { readonly id: number; readonly result?: unknown }
            this.#waiting.get(message.id)?.(message.result !== undefined)
          }
        }),
      )
    })
  }
}

const META = 'io.modelcontextprotocol/'
const CLIENT = { name: 'scripted', version: '1' }
