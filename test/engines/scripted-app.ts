import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { endOf } from './end-of.ts'
import { MessageScanner } from './message-scanner.ts'
import type { AppSeen, End } from './observed.ts'
import { markIn, type AppResponse } from './script.ts'
import { startUpstream } from '../support/wire.ts'

/** Responds to requests for which the script has no response. */
const USUAL: Omit<AppResponse, 'marker'> = {
  at: 'whole',
  pieces: ['HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'],
  gap: 0,
  end: 'keep',
}

/** A response that is being sent. */
interface Sending {
  readonly response: Omit<AppResponse, 'marker'>
  next: number
  wait: number
}

/** Before a reset, so that what was sent has been read: a reset would throw it away. */
const BEFORE_RESET = 4

/** One connection that the upstream accepted. */
class AppConnection {
  readonly requests: string[] = []
  end: End = 'kept'
  closed = false
  readonly #socket: Socket
  readonly #scanner: MessageScanner
  readonly #queue: Sending[] = []
  readonly #touch: () => void

  constructor(socket: Socket, app: ScriptedApp) {
    this.#socket = socket
    this.#touch = app.touch
    let begun: Omit<AppResponse, 'marker'> | undefined
    this.#scanner = new MessageScanner({
      head: (head) => {
        begun = app.responseTo(head, false)
        if (begun?.at === 'head') this.#queue.push({ response: begun, next: 0, wait: 0 })
      },
      message: (text) => {
        this.requests.push(text)
        const response = begun ?? app.responseTo(text, true)!
        begun = undefined
        if (response.at === 'whole') this.#queue.push({ response, next: 0, wait: 0 })
      },
    })
    socket.on('data', (bytes: Buffer) => {
      app.touch()
      this.#scanner.push(bytes.toString('latin1'))
      // The plainest responses leave at once.
      this.turn(app.steps())
    })
    socket.on('end', () => {
      app.touch()
      if (this.end === 'kept') this.end = endOf(socket)
      this.#queue.length = 0
      socket.end()
    })
    socket.on('error', () => {
      app.touch()
      this.end = 'rst'
    })
    socket.on('close', () => {
      app.touch()
      this.closed = true
    })
  }

  /** True when bytes are still to be sent that wait for nothing but turns. */
  turn(steps: number): boolean {
    const sending = this.#queue[0]
    if (sending === undefined) return false
    const { response } = sending
    if (response.after !== undefined && steps < response.after) return false
    if (sending.wait-- > 0) return true
    const piece = response.pieces[sending.next]
    this.#touch()
    if (piece !== undefined) {
      this.#socket.write(piece, 'latin1')
      sending.next++
      sending.wait = response.gap
    }
    if (sending.next < response.pieces.length) {
      return response.gap === 0 ? this.turn(steps) : true
    }
    if (response.end === 'rst' && piece !== undefined) {
      sending.wait = BEFORE_RESET
      return true
    }
    this.#queue.shift()
    if (response.end === 'rst') this.#socket.resetAndDestroy()
    else if (response.end === 'fin') this.#socket.end()
    return this.turn(steps)
  }

  seen(): AppSeen {
    const { rest } = this.#scanner
    return { requests: rest === '' ? this.requests : [...this.requests, rest], end: this.end }
  }

  /** Ends what the script has left open. */
  finish(): void {
    if (!this.#socket.writableEnded) this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** An upstream that responds by a script, byte by byte. */
export class ScriptedApp {
  readonly touch: () => void
  /** Steps that the client has done. */
  steps: () => number = () => 0
  /** Requests of this script whose headers have arrived. */
  heads = 0
  readonly #server: Server
  #connections: AppConnection[] = []
  #responses = new Map<number, AppResponse>()
  #unmarked = 0

  constructor(touch: () => void) {
    this.touch = touch
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      touch()
      this.#connections.push(new AppConnection(socket, this))
    })
  }

  async listen(): Promise<number> {
    return (await startUpstream(this.#server)).port
  }

  begin(responses: readonly AppResponse[], steps: () => number): void {
    this.steps = steps
    this.heads = 0
    this.#unmarked = 0
    this.#connections = []
    this.#responses = new Map(responses.map((response) => [response.marker, response]))
  }

  /** The response to a request; undefined while its marker may still come with its body. */
  responseTo(text: string, whole: boolean): Omit<AppResponse, 'marker'> | undefined {
    if (!whole) this.heads++
    const marker = markIn(text)
    if (marker === undefined && !whole) return undefined
    return this.#responses.get(marker ?? this.#unmarked++) ?? USUAL
  }

  /** True when something is still to be sent. */
  turn(): boolean {
    let busy = false
    for (const connection of this.#connections) if (connection.turn(this.steps())) busy = true
    return busy
  }

  get allClosed(): boolean {
    return this.#connections.every(({ closed }) => closed)
  }

  /** Returns the state of all connections so far. */
  seen(): AppSeen[] {
    return this.#connections.map((connection) => connection.seen())
  }

  finish(): void {
    for (const connection of this.#connections) connection.finish()
  }

  destroy(): void {
    for (const connection of this.#connections) connection.destroy()
  }

  async close(): Promise<void> {
    this.destroy()
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }
}
