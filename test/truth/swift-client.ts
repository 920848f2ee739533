import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A response as far as the client got it. */
export interface SwiftResponse {
  readonly status: number
  /** True for an event stream. */
  readonly isStream: boolean
  readonly body: string
}

/** The end of an exchange as the client sees it. */
export type SwiftEnd = SwiftResponse | 'reset' | 'closed'

const LENGTH = /\r\ncontent-length: *(\d+)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
const STREAM = /\r\ncontent-type: *text\/event-stream/i

/**
 * A client that keeps its connection, asks one thing at a time, and reads ASCII alone: it is quick.
 */
export class SwiftClient {
  readonly #socket: Socket
  #text = ''
  #done: ((end: SwiftEnd) => void) | undefined
  #gone: 'reset' | 'closed' | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1')
      this.#read()
    })
    socket.on('error', () => this.#end('reset'))
    socket.on('close', () => this.#end('closed'))
  }

  static async connect(port: number): Promise<SwiftClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    return new SwiftClient(socket)
  }

  get isOpen(): boolean {
    return this.#gone === undefined
  }

  ask(request: string): Promise<SwiftEnd> {
    this.tell(request)
    return new Promise((resolve) => {
      this.#done = resolve
      if (this.#gone !== undefined) resolve(this.#gone)
    })
  }

  tell(request: string): void {
    this.#socket.write(request, 'latin1')
  }

  /** Leaves, once what was written is out. */
  leave(): void {
    this.#socket.end(() => this.#socket.destroy())
  }

  #end(how: 'reset' | 'closed'): void {
    this.#gone ??= how
    this.#done?.(this.#gone)
  }

  #read(): void {
    const text = this.#text
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = text.slice(0, end)
    const start = end + 4
    const rest = CHUNKED.test(head)
      ? dechunked(text, start)
      : counted(text, start, Number(LENGTH.exec(head)?.[1] ?? 0))
    if (rest === undefined) return
    if (rest.end !== text.length) throw new Error(`more than a response: ${text.slice(rest.end)}`)
    this.#text = ''
    this.#done?.({
      status: Number(head.slice(9, 12)),
      isStream: STREAM.test(head),
      body: rest.body,
    })
  }
}

interface Rest {
  readonly body: string
  readonly end: number
}

function counted(text: string, start: number, length: number): Rest | undefined {
  const end = start + length
  return text.length < end ? undefined : { body: text.slice(start, end), end }
}

function dechunked(text: string, start: number): Rest | undefined {
  let body = ''
  for (let at = start; ;) {
    const line = text.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(text.slice(at, line), 16)
    const end = line + 2 + size + 2
    if (text.length < end) return undefined
    if (size === 0) return { body, end }
    body += text.slice(line + 2, end - 2)
    at = end
  }
}
