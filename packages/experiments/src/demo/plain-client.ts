import { Agent, type IncomingMessage, request } from 'node:http'
import type { Ending } from './demo-tools.ts'

/** One response as it came off the wire. */
export interface WireResponse {
  /** 0 when the connection broke before there was one. */
  readonly status: number
  /** Status, header lines in order and casing, and body; without what belongs to the connection. */
  readonly bytes: Buffer
  readonly header: (name: string) => string | undefined
  readonly body: Buffer
  /** The outcome as a client sees it. */
  readonly ending: Ending | 'incomplete'
  readonly milliseconds: number
}

/** A stream that is held open. */
export interface HeldStream {
  /** Resolves when the stream has broken or ended. */
  readonly over: Promise<void>
  /** Resolves when so many bytes have come. */
  heard(bytes: number): Promise<void>
  close(): void
}

// These belong to one connection, and there are two where a proxy stands between.
const OF_THE_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding'])

/** An MCP client with nothing clever in it: one POST per call over connections that are kept. */
export class PlainClient {
  readonly #agent: Agent
  readonly #port: number

  constructor(port: number, connections: number) {
    this.#port = port
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** Sends one message and takes in whatever comes of it. Never rejects. */
  send(message: object): Promise<WireResponse> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    const startedAt = performance.now()
    return new Promise((resolve) => {
      let response: IncomingMessage | undefined
      const chunks: Buffer[] = []
      const settle = (broken?: Error): void => {
        const milliseconds = performance.now() - startedAt
        resolve(toResponse(response, Buffer.concat(chunks), broken, milliseconds))
      }
      const outgoing = request(
        {
          agent: this.#agent,
          host: '127.0.0.1',
          port: this.#port,
          path: '/mcp',
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            Accept: 'application/json, text/event-stream',
            'Content-Length': Buffer.byteLength(body),
          },
        },
        (incoming) => {
          response = incoming
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
          incoming.on('end', () => settle())
          incoming.on('error', settle)
        },
      )
      outgoing.on('error', settle)
      outgoing.end(body)
    })
  }

  /** Opens the stream on which the server speaks by itself. */
  hold(): Promise<HeldStream> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        host: '127.0.0.1',
        port: this.#port,
        path: '/mcp',
        headers: { Accept: 'text/event-stream' },
      })
      outgoing.on('error', reject)
      outgoing.on('response', (incoming) => resolve(held(incoming)))
      outgoing.end()
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

function held(incoming: IncomingMessage): HeldStream {
  let size = 0
  incoming.on('data', (chunk: Buffer) => {
    size += chunk.length
    incoming.emit('heard')
  })
  incoming.on('error', () => {})
  const over = new Promise<void>((resolve) => incoming.once('close', () => resolve()))
  const heard = (bytes: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (size < bytes) return
        incoming.off('heard', look)
        resolve()
      }
      incoming.on('heard', look)
      look()
    })
  return { over, heard, close: () => incoming.destroy() }
}

function toResponse(
  incoming: IncomingMessage | undefined,
  body: Buffer,
  broken: NodeJS.ErrnoException | undefined,
  milliseconds: number,
): WireResponse {
  const lines = [`${incoming?.statusCode ?? 0} ${incoming?.statusMessage ?? ''}`]
  const raw = incoming?.rawHeaders ?? []
  for (let i = 0; i < raw.length; i += 2) {
    if (!OF_THE_CONNECTION.has(raw[i]!.toLowerCase())) lines.push(`${raw[i]}: ${raw[i + 1]}`)
  }
  const status = incoming?.statusCode ?? 0
  return {
    status,
    bytes: Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]),
    header: (name) => incoming?.headers[name]?.toString(),
    body,
    ending: broken === undefined ? endingOf(status, body.toString()) : breakOf(broken),
    milliseconds,
  }
}

/** The system reports a reset when it reads; a connection that was only closed has no such call. */
function breakOf({ code, syscall }: NodeJS.ErrnoException): Ending | 'incomplete' {
  return code === 'ECONNRESET' && syscall !== undefined ? 'reset' : 'incomplete'
}

function endingOf(status: number, body: string): Ending | 'incomplete' {
  if (status >= 400) return 'http_error'
  const message = responseIn(body)
  if (message === undefined) return 'incomplete'
  if (message.error !== undefined) return 'rpc_error'
  return message.result?.isError === true ? 'tool_error' : 'ok'
}

interface Reply {
  readonly error?: unknown
  readonly result?: { readonly isError?: boolean }
}

/** The response in a JSON body, or the last event of a stream. */
function responseIn(body: string): Reply | undefined {
  const at = body.lastIndexOf('\ndata: ')
  const text = at === -1 ? body : body.slice(at + '\ndata: '.length)
  try {
    return JSON.parse(text) as Reply
  } catch {
    return undefined
  }
}
