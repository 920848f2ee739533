import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

/** The arguments of a call, which select the upstream's behaviour. */
export interface ScriptedArguments {
  /** Responds by an event stream rather than by JSON. */
  readonly sse?: true
  /** The number of the call in the whole run. */
  readonly n: number
  /** A real failure. */
  readonly fail?: Failing
}

/** The ways in which the upstream itself fails. */
export type Failing = 'tool' | 'rpc' | 'http'

/** A call as it is sent. */
export interface ScriptedCall {
  readonly id: number
  readonly method: 'tools/call'
  readonly params: { readonly name: string; readonly arguments: ScriptedArguments }
}

/** An upstream that follows the arguments of calls, and counts executions. */
export interface ScriptedApp {
  readonly url: string
  /** The number of executions of each call, by the number of the call. */
  readonly executed: Uint8Array
  close(): Promise<void>
}

/** The upstream's text when nothing fails, long enough that a part can be removed. */
export const FINE = 'all is well and nothing has been lost on the way'

const LENGTH = /\r\ncontent-length: *(\d+)/i
const PROGRESS = event({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info' },
})
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Starts it for calls with numbers below `count`. A tool named `held` gets no response. */
export async function countingServer(count: number): Promise<ScriptedApp> {
  const executed = new Uint8Array(count)
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      for (;;) {
        const start = text.indexOf('\r\n\r\n') + 4
        if (start < 4) return
        const end = start + Number(LENGTH.exec(text.slice(0, start))?.[1] ?? 0)
        if (text.length < end) return
        const said = responseTo(text.slice(start, end), executed)
        text = text.slice(end)
        if (said !== undefined) socket.write(said, 'latin1')
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    executed,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function responseTo(body: string, executed: Uint8Array): string | undefined {
  const posted = JSON.parse(body) as ScriptedCall | ScriptedCall[]
  const calls = [posted].flat()
  for (const { params } of calls) executed[params.arguments.n]!++
  const [{ params }] = calls as [ScriptedCall]
  if (params.name === 'held') return undefined
  const { sse, fail } = params.arguments
  if (fail === 'http') return whole('500 Oops', 'text/plain', 'the upstream is out of order')
  const messages = calls.map((call) => messageTo(call))
  if (sse === true) return `${STREAM_HEAD}${PROGRESS}${messages.map(event).join('')}0\r\n\r\n`
  return whole(
    '200 OK',
    'application/json',
    JSON.stringify(Array.isArray(posted) ? messages : messages[0]),
  )
}

function messageTo({ id, params }: ScriptedCall): object {
  const { fail } = params.arguments
  if (fail === 'rpc') return { jsonrpc: '2.0', id, error: { code: -32000, message: 'real' } }
  const failed = fail === 'tool'
  const text = failed ? 'real' : FINE
  const structuredContent = { value: 'real' }
  return {
    jsonrpc: '2.0',
    id,
    result: {
      content: [{ type: 'text', text }],
      structuredContent,
      ...(failed && { isError: true }),
    },
  }
}

function whole(status: string, type: string, body: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function event(message: object): string {
  const text = `event: message\ndata: ${JSON.stringify(message)}\n\n`
  return `${text.length.toString(16)}\r\n${text}\r\n`
}
