import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { drained, type CloseState } from './raw-app.ts'
import { statusOf, WireReader, type WireMessage } from './reader.ts'

/** A response as the client received it. */
export interface ClientResponse extends WireMessage {
  readonly status: number
  readonly reason: string
  /** The 1xx responses before it. */
  readonly infos: WireMessage[]
}

/** Settings of a client. */
export interface RawClientOptions {
  readonly keepBody?: boolean
  readonly keepBytes?: boolean
}

/** A client made of one plain socket. */
export class RawClient {
  readonly socket: Socket
  /** Resolves when the other side is gone, telling FIN from RST. */
  readonly gone: Promise<CloseState>
  /** The violations that a strict reader found. */
  readonly violations: string[] = []
  /** Every final response, whole or cut. */
  readonly responses: ClientResponse[] = []
  /** The response whose head has arrived and whose end has not. */
  current: ClientResponse | undefined
  received = 0
  #bytes: Buffer[] = []
  readonly #methods: string[] = []
  #infos: WireMessage[] = []
  readonly #waiters = new Set<() => void>()
  readonly #reader: WireReader
  #closeState: CloseState | undefined

  private constructor(socket: Socket, options: RawClientOptions) {
    this.socket = socket
    this.#reader = new WireReader(
      {
        role: 'response',
        keepBody: options.keepBody !== false,
        method: () => this.#methods[0] ?? 'GET',
      },
      {
        head: (message) => {
          if (statusOf(message) >= 200 || statusOf(message) === 101)
            this.current = this.#response(message)
        },
        message: (message) => this.#message(message),
      },
    )
    socket.on('data', (bytes: Buffer) => {
      this.received += bytes.length
      if (options.keepBytes !== false) this.#bytes.push(bytes)
      try {
        if (this.violations.length === 0) this.#reader.push(bytes)
      } catch (error) {
        this.violations.push(String(error))
      }
      this.#wake()
    })
    this.gone = new Promise((resolve) => {
      const depart = (closeState: CloseState): void => {
        if (this.#closeState !== undefined) return
        this.#closeState = closeState
        const cut = this.#reader.end(closeState === 'fin')
        if (cut !== undefined && this.current !== undefined) this.responses.push(this.current)
        this.#wake()
        resolve(closeState)
      }
      // libuv reports a reset that arrives together with bytes as an end.
      socket.on('end', () => depart(socket.remoteAddress === undefined ? 'reset' : 'fin'))
      socket.on('error', () => depart('reset'))
      socket.on('close', () => depart('fin'))
    })
  }

  /** Connects to a port of the loopback interface. */
  static async connect(port: number, options: RawClientOptions = {}): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    await once(socket, 'connect')
    return new RawClient(socket, options)
  }

  /** Everything received so far, one character per byte. */
  get text(): string {
    if (this.#bytes.length > 1) this.#bytes = [Buffer.concat(this.#bytes)]
    return this.#bytes[0]?.toString('latin1') ?? ''
  }

  get closeState(): CloseState | undefined {
    return this.#closeState
  }

  /** Writes each piece in a turn of its own; `method` determines how the response is read. */
  async send(
    pieces: string | Buffer | readonly (string | Buffer)[],
    method?: string,
  ): Promise<void> {
    const list = Array.isArray(pieces) ? pieces : [pieces as string | Buffer]
    if (method !== undefined) this.#methods.push(method)
    for (const [index, piece] of list.entries()) {
      if (index > 0) await new Promise((resolve) => setImmediate(resolve))
      if (this.socket.destroyed || this.socket.writableEnded) return
      const bytes = typeof piece === 'string' ? Buffer.from(piece, 'latin1') : (piece as Buffer)
      if (!this.socket.write(bytes)) await drained(this.socket)
    }
  }

  /**
   * Resolves with the n-th final response (from 0), whole or cut; undefined when there is none
   * before the end.
   */
  async response(index = 0): Promise<ClientResponse | undefined> {
    await this.#until(() => this.responses.length > index)
    return this.responses[index]
  }

  /** Resolves when the head of a response has arrived. */
  async head(): Promise<ClientResponse | undefined> {
    await this.#until(() => this.current !== undefined)
    return this.current
  }

  /** Resolves true when the text has been received, false when the connection ended without it. */
  async sees(text: string): Promise<boolean> {
    await this.#until(() => this.text.includes(text))
    return this.text.includes(text)
  }

  /** Resolves when this many bytes have been received, or no more will be. */
  async sawBytes(count: number): Promise<void> {
    await this.#until(() => this.received >= count)
  }

  /** Leaves without a word. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** Leaves by closing the connection. */
  close(): void {
    this.socket.destroy()
  }

  #response(message: WireMessage): ClientResponse {
    const infos = this.#infos
    this.#infos = []
    const reason = message.startLine.slice(13)
    return Object.assign(message, { status: statusOf(message), reason, infos })
  }

  #message(message: WireMessage): void {
    if (statusOf(message) < 200) {
      this.#infos.push(message)
      return
    }
    this.responses.push(message as ClientResponse)
    this.#methods.shift()
    this.current = undefined
  }

  #until(met: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!met() && this.#closeState === undefined && this.violations.length === 0) return
        this.#waiters.delete(check)
        resolve()
      }
      this.#waiters.add(check)
      check()
    })
  }

  #wake(): void {
    for (const check of this.#waiters) check()
  }
}

/** One exchange on a connection of its own. */
export async function exchange(
  port: number,
  request: string | Buffer | readonly (string | Buffer)[],
  method = 'GET',
): Promise<{ response: ClientResponse | undefined; client: RawClient }> {
  const client = await RawClient.connect(port)
  await client.send(request, method)
  const received = await client.response()
  client.close()
  return { response: received, client }
}
