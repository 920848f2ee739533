import { once } from 'node:events'
import { WebSocket } from 'ws'

/** The fields of an event or a response. */
export type Fields = Readonly<Record<string, unknown>>

interface Message {
  readonly id?: number
  readonly method?: string
  readonly sessionId?: string
  readonly params?: Fields
  readonly result?: Fields
  readonly error?: { readonly message: string }
}

interface Waiting {
  readonly resolve: (result: Fields) => void
  readonly reject: (error: Error) => void
}

/** The connection by which a browser is driven. */
export class DevTools {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Set<(session: string, method: string, params: Fields) => void>()
  #ids = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as Message))
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the browser is gone'))
    })
  }

  static async connect(url: string): Promise<DevTools> {
    const socket = new WebSocket(url)
    await once(socket, 'open')
    return new DevTools(socket)
  }

  send(method: string, params: Fields = {}, sessionId?: string): Promise<Fields> {
    const id = ++this.#ids
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
  }

  onEvent(listener: (session: string, method: string, params: Fields) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    this.#socket.terminate()
  }

  #take({ id, method, sessionId, params, result, error }: Message): void {
    if (method !== undefined) {
      for (const listener of this.#listeners) listener(sessionId ?? '', method, params ?? {})
      return
    }
    const waiting = this.#waiting.get(id ?? 0)
    this.#waiting.delete(id ?? 0)
    if (error === undefined) waiting?.resolve(result ?? {})
    else waiting?.reject(new Error(error.message))
  }
}
