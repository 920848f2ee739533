import {
  headerValue,
  mediaType,
  type HeaderLines,
  type ResponseHead,
} from '../../../http/headers.ts'
import { eventMessage } from '../../../mcp/event-message.ts'
import type { SseFrame } from '../../../mcp/sse-framer.ts'
import type { Failure, ResponseSink, Transfer } from '../../../http/transfer.ts'
import { codingOf } from '../../../http/content-coding.ts'
import type { Cut } from '../../exchange.ts'
import { PushChains } from './push-chains.ts'
import { PushOutlet, type PushPosition } from '../emit/push-outlet.ts'
import type { PushSession } from './push-session.ts'
import type { PushStreams } from './push-streams.ts'
import type { PushedCall } from './pushed-call.ts'
import { TimedFramer } from './timed-framer.ts'

/**
 * One stream that a client has opened by GET, on its way from the app. Its bytes pass as they come,
 * halves of events too. Only while faults wait for an event on it is it read event by event: those
 * of calls with faults go through their lanes, and all others pass as soon as they are whole.
 */
export class PushStream implements ResponseSink, Transfer {
  /** It belongs to an endpoint that it announced: the stream of HTTP+SSE. */
  announced = false
  /** What is cut here was cut by a fault. */
  cutByFault = false
  readonly #streams: PushStreams
  readonly #limit: number
  readonly #holdTimeout: number
  #sink: ResponseSink | undefined
  #app: Transfer | undefined
  #position: PushPosition | undefined
  #outlet: PushOutlet | undefined
  #session: PushSession | undefined
  #lanes: PushChains | undefined
  /** Only while the stream is read event by event. */
  #framer: TimedFramer | undefined
  #coded = false
  #busy = false
  #paused = false
  #ending = false
  #over = false

  constructor(streams: PushStreams, limit: number, holdTimeout: number) {
    this.#streams = streams
    this.#holdTimeout = holdTimeout
    this.#limit = limit
  }

  /** False where its events cannot be told apart. */
  get readable(): boolean {
    return !this.#coded
  }

  /** Who watches what the client gets; asked from the head of a stream on. */
  watchedBy(position: PushPosition): void {
    this.#position = position
  }

  /** Where the stream goes. */
  into(sink: ResponseSink): void {
    this.#sink = sink
  }

  /** Where the stream comes from. */
  attach(app: Transfer): void {
    this.#app = app
    if (this.#over) app.abort()
  }

  /** It is known which session the stream belongs to. */
  belongsTo(key: string, announced: boolean): void {
    if (this.#over || this.#outlet === undefined || key === '') return
    if (this.#session !== undefined) this.#streams.leave(this.#session, this)
    this.announced = announced
    this.#session = this.#streams.join(key, this)
    this.update()
  }

  info(head: ResponseHead): void {
    this.#sink?.info(head)
  }

  head(head: ResponseHead): void {
    if (this.#over) return
    const type = mediaType(headerValue(head.headers, 'content-type'))
    if (head.status < 300 && type === 'text/event-stream' && this.#position !== undefined) {
      this.#coded = codingOf(headerValue(head.headers, 'content-encoding')) !== 'identity'
      this.#outlet = new PushOutlet(this.#sink!, this.#position)
    }
    this.#sink!.head(head)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return true
    const outlet = this.#outlet
    if (outlet === undefined) return this.#sink!.data(chunk)
    this.#busy = true
    const framer = this.#framer
    if (framer === undefined) outlet.write(chunk)
    else outlet.joined(() => framer.push(chunk, (frame) => this.#frame(frame)))
    this.#busy = false
    this.update()
    this.#paused = outlet.blocked
    return !this.#paused
  }

  end(trailers: HeaderLines): void {
    // A session of HTTP+SSE ends with its stream: nobody is to wait for what one call's fault holds.
    this.#finish(this.announced, () => this.#sink!.end(trailers))
  }

  fail(failure: Failure): void {
    this.#finish(true, () => this.#sink!.fail(failure))
  }

  resume(): void {
    this.#outlet?.resume()
    if (this.#outlet !== undefined && !this.#paused) return
    this.#paused = false
    this.#app?.resume()
  }

  abort(): void {
    this.#app?.abort()
    this.#close()
  }

  /** Sends whole events between two of the app's; false when that is not possible. */
  send(bytes: Uint8Array): boolean {
    if (this.#over || this.#coded || this.#outlet?.offer(bytes) !== true) return false
    this.update()
    return true
  }

  /** Ends the stream on behalf of a fault. */
  cut(how: Cut): void {
    if (this.#over) return
    this.cutByFault = true
    this.#app?.abort()
    this.#close()
    const kind = how === 'rst' ? 'reset' : 'closed'
    this.#sink!.fail({ kind, message: 'a fault ended the session' })
  }

  carries(pushed: PushedCall): boolean {
    return this.#lanes?.carries(pushed) === true
  }

  /** A call has ended whose events the stream carries. */
  release(pushed: PushedCall, done: () => void): void {
    this.#lanes!.release(pushed, done)
  }

  /** Begins to read the stream event by event, or stops to, as is needed. */
  update(): void {
    const outlet = this.#outlet
    if (outlet === undefined || this.#busy || this.#over || this.#coded) return
    const wanted = this.#session?.armed === true || this.#lanes?.active === true || outlet.waits
    if (wanted === (this.#framer !== undefined)) return
    if (wanted && !this.#ending) {
      this.#framer = new TimedFramer(this.#position!.fork(), this.#holdTimeout, {
        isBehind: () => this.#paused,
      })
    } else {
      const rest = this.#framer?.end()
      this.#framer = undefined
      if (rest !== undefined) outlet.write(rest)
    }
  }

  #frame(frame: SseFrame): void {
    const session = this.#session
    const message = eventMessage(frame)
    const owner = session?.ownerOf(message)
    if (owner !== undefined) {
      this.#lanes ??= new PushChains(this.#outlet!, this.#limit, () => this.update())
      // What comes behind the response is no business of the call's faults.
      if (this.#lanes.push(owner, frame, message)) session!.remove(owner)
    } else {
      if (this.#lanes === undefined) this.#outlet!.write(frame.raw)
      else this.#lanes.pass(frame)
    }
    this.#outlet!.flush()
  }

  #finish(wake: boolean, last: () => void): void {
    if (this.#over || this.#ending) return
    this.#ending = true
    const leave = (): void => {
      if (this.#over) return
      const rest = this.#framer?.end()
      this.#framer = undefined
      if (rest !== undefined) this.#outlet!.write(rest)
      this.#outlet?.flushAll()
      this.#close()
      last()
    }
    // An event that the app broke off has no end behind which another one could go.
    if (this.#outlet !== undefined && !this.#position!.between) this.#lanes?.drop()
    if (this.#lanes?.active === true) void this.#lanes.finish(wake).then(leave)
    else leave()
  }

  #close(): void {
    if (this.#over) return
    this.#over = true
    this.#framer?.end()
    this.#framer = undefined
    this.#lanes?.drop()
    this.#outlet?.drop()
    if (this.#session !== undefined) this.#streams.leave(this.#session, this)
  }
}
