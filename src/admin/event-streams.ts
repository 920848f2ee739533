import type { ServerResponse } from 'node:http'
import { type AdminResponse, jsonResponse } from './admin-response.ts'

/** The state at one moment, as JSON on one line. */
export interface EventSnapshot {
  /** For readers that received every earlier event. */
  readonly next: string
  /** For all other readers. */
  readonly whole: () => string
}

/** Makes the events. */
export interface EventSource {
  readonly snapshot: () => EventSnapshot
  /** Called when the last reader has left. */
  readonly rest: () => void
}

interface Reader {
  readonly response: ServerResponse
  /** The number of consecutive events that could not be written. */
  skipped: number
}

const MAX_STREAMS = 16
const EVERY_MS = 1_000
// A client that reads nothing for this many seconds occupies a connection that others could use.
const MAX_SKIPPED = 30
/** The head of a stream of events. */
export const STREAM_HEAD = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Keeps proxies from buffering.
  'x-accel-buffering': 'no',
  connection: 'close',
}

/**
 * Sends one text, made once a second, to all readers, and only while there are readers. A slow
 * reader misses events, and gets the whole state when it reads again.
 */
export class EventStreams {
  readonly #source: EventSource
  readonly #everyMs: number
  readonly #readers = new Set<Reader>()
  #timer: NodeJS.Timeout | undefined
  #snapshot: EventSnapshot | undefined

  constructor(source: EventSource, everyMs = EVERY_MS) {
    this.#source = source
    this.#everyMs = everyMs
  }

  get size(): number {
    return this.#readers.size
  }

  /** Opens a stream, or returns the rejection. */
  open(response: ServerResponse): AdminResponse | undefined {
    if (response.destroyed) return undefined
    if (this.#readers.size >= MAX_STREAMS) {
      const error = `too many event streams: the maximum of ${MAX_STREAMS} is open`
      return jsonResponse(503, { error }, { 'retry-after': '5' })
    }
    if (this.#timer === undefined) {
      this.#snapshot = this.#source.snapshot()
      this.#timer = setInterval(() => this.#tick(), this.#everyMs).unref()
    }
    const reader: Reader = { response, skipped: 0 }
    this.#readers.add(reader)
    response.on('close', () => this.#readers.delete(reader))
    response.writeHead(200, STREAM_HEAD)
    response.write('retry: 2000\n\n')
    if (this.#snapshot !== undefined) send(reader, this.#snapshot.whole())
    return undefined
  }

  close(): void {
    this.#end()
    for (const { response } of this.#readers) response.end()
  }

  /** Ends a little after the last reader left: reconnecting does not cause more snapshots. */
  #tick(): void {
    if (this.#readers.size === 0) return this.#end()
    const snapshot = this.#source.snapshot()
    this.#snapshot = snapshot
    for (const reader of this.#readers) {
      if (reader.response.writableNeedDrain) {
        reader.skipped++
        if (reader.skipped > MAX_SKIPPED) reader.response.destroy()
      } else {
        send(reader, reader.skipped > 0 ? snapshot.whole() : snapshot.next)
        reader.skipped = 0
      }
    }
  }

  #end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#snapshot = undefined
    this.#source.rest()
  }
}

function send({ response }: Reader, json: string): void {
  response.write(`data: ${json}\n\n`)
}
