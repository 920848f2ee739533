import { connect, type Socket } from 'node:net'
import { endOf } from './end-of.ts'
import { MessageScanner } from './message-scanner.ts'
import type { ClientSeen, End } from './observed.ts'
import type { Step } from './script.ts'

/** The callbacks that a client needs from its environment. */
export interface ClientHost {
  touch(): void
  /** Nothing has happened for long enough. */
  isQuiet(): boolean
  appHeads(): number
  stepDone(): void
}

/** Plays the steps of one connection. */
export class ScriptedClient {
  readonly #host: ClientHost
  readonly #steps: readonly Step[]
  readonly #socket: Socket
  readonly #methods: string[] = []
  readonly #scanner: MessageScanner
  #received = ''
  #responses = 0
  #end: End = 'kept'
  #connected = false
  #closed = false
  #next = 0
  #turns = 0
  #waits = ''
  /** Requests at the upstream when the last response had come. */
  #responded = 0
  #abandoned = false
  #ownEnd: 'fin' | 'rst' | undefined
  /** The bytes and the end that had been seen when all steps were done. */
  #before: { readonly received: string; readonly end: End } | undefined

  constructor(port: number, steps: readonly Step[], host: ClientHost) {
    this.#host = host
    this.#steps = steps
    this.#responded = host.appHeads()
    this.#scanner = new MessageScanner({ message: () => void this.#responses++ }, this.#methods)
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    this.#socket = socket
    socket.once('connect', () => {
      this.#connected = true
      host.touch()
    })
    socket.on('data', (bytes: Buffer) => {
      host.touch()
      const text = bytes.toString('latin1')
      this.#received += text
      this.#scanner.push(text)
    })
    socket.on('end', () => {
      host.touch()
      if (this.#end === 'kept') this.#end = endOf(socket)
    })
    socket.on('error', () => {
      host.touch()
      this.#end = 'rst'
    })
    socket.on('close', () => {
      host.touch()
      this.#closed = true
    })
  }

  /** True when the connection is over. */
  turn(): boolean {
    if (!this.#connected && !this.#closed) return false
    while (this.#before === undefined) if (!this.#step()) return false
    if (this.#closed) return true
    // Both sides have ended, or the sidecar gives no end to what the client has ended: that is
    // seen, too.
    if (this.#host.isQuiet()) this.#socket.destroy()
    return false
  }

  destroy(): void {
    this.#socket.destroy()
  }

  seen(): ClientSeen {
    const { received, end } = this.#before ?? { received: this.#received, end: this.#end }
    return {
      received,
      end,
      waits: this.#waits,
      after: this.#received.slice(received.length),
      afterEnd: this.#end,
    }
  }

  /** Does one step; false when it has to wait. */
  #step(): boolean {
    const step = this.#steps[this.#next]
    if (step === undefined) {
      if (!this.#over && !this.#host.isQuiet()) return false
      this.#finish()
      return true
    }
    const done = this.#did(step)
    if (done === '') return false
    this.#waits += done
    this.#next++
    this.#host.stepDone()
    return true
  }

  get #over(): boolean {
    return this.#end !== 'kept' || this.#closed
  }

  /** Returns the way in which a step ended, or an empty string while it has not ended. */
  #did(step: Step): '' | 'm' | 'e' | 'q' {
    switch (step.do) {
      case 'send':
        if (this.#over || this.#abandoned) return 'e'
        if (step.asks !== undefined) this.#methods.push(...step.asks)
        this.#socket.write(step.bytes, 'latin1')
        this.#host.touch()
        return 'm'
      case 'turns':
        if (this.#turns++ < step.count) return ''
        this.#turns = 0
        return 'm'
      case 'responses':
        return this.#awaited(step.count)
      case 'bytes':
        return this.#waited(this.#received.length >= step.count)
      case 'app':
        return this.#waited(this.#host.appHeads() >= step.count)
      case 'quiet':
        return this.#waited(false)
      case 'fin':
      case 'rst':
        break
    }
    return this.#leave(step.do)
  }

  /** A client sends no other request after one that the upstream received without responding. */
  #awaited(count: number): '' | 'm' | 'e' | 'q' {
    const how = this.#waited(this.#responses >= count)
    const heads = this.#host.appHeads()
    if (how === 'q' && heads > this.#responded) this.#abandoned = true
    if (how === 'm') this.#responded = heads
    return how
  }

  #waited(met: boolean): '' | 'm' | 'e' | 'q' {
    if (met) return 'm'
    if (this.#over) return 'e'
    return this.#host.isQuiet() ? 'q' : ''
  }

  #leave(how: 'fin' | 'rst'): 'm' | 'e' {
    if (this.#over) return 'e'
    this.#ownEnd = how
    this.#host.touch()
    if (how === 'fin') this.#socket.end()
    else this.#socket.resetAndDestroy()
    return 'm'
  }

  #finish(): void {
    this.#before = { received: this.#received, end: this.#end }
    this.#host.touch()
    if (this.#ownEnd === undefined && !this.#closed) this.#socket.end()
  }
}
