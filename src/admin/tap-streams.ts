import type { ServerResponse } from 'node:http'
import { type AdminResponse, jsonResponse } from './admin-response.ts'
import type { LineFilter } from './contract/filters.ts'
import { STREAM_HEAD } from './event-streams.ts'

const MAX_TAPS = 16
/** The bytes that wait for one reader; further calls are dropped and counted. */
const MAX_WAITING = 256 * 1024
const EVERY_MS = 1_000
/**
 * A client that reads nothing for this many seconds occupies a connection that others could use.
 */
const MAX_STALLED = 30

/** Supplies the lines of a stream. */
export interface LineSource<Line> {
  /** Adds a reader; returns the function that removes it. */
  read(reader: (line: Line) => void): () => void
  /** Reads the filters of a query. Throws a `CallFilterError`. */
  filter(query: URLSearchParams): LineFilter<Line>
}

/**
 * Streams lines, such as single calls, to clients. Nothing is done for a line while there is no
 * client.
 */
export class TapStreams<Line> {
  readonly #source: LineSource<Line>
  readonly #everyMs: number
  readonly #taps = new Set<Tap<Line>>()
  #timer: NodeJS.Timeout | undefined

  constructor(source: LineSource<Line>, everyMs = EVERY_MS) {
    this.#source = source
    this.#everyMs = everyMs
  }

  get size(): number {
    return this.#taps.size
  }

  /** Opens a stream, or returns the rejection. Throws a `CallFilterError`. */
  open(response: ServerResponse, query: URLSearchParams): AdminResponse | undefined {
    if (response.destroyed) return undefined
    if (this.#taps.size >= MAX_TAPS) {
      const error = `too many taps: the maximum of ${MAX_TAPS} is open`
      return jsonResponse(503, { error }, { 'retry-after': '5' })
    }
    const tap = new Tap(response, this.#source.filter(query))
    const stop = this.#source.read((line) => tap.take(line))
    this.#taps.add(tap)
    this.#timer ??= setInterval(() => this.#tick(), this.#everyMs).unref()
    response.on('close', () => {
      stop()
      this.#taps.delete(tap)
    })
    response.writeHead(200, STREAM_HEAD)
    // Shows the client that the stream is open.
    response.write(': open\n\n')
    return undefined
  }

  close(): void {
    clearInterval(this.#timer)
    for (const tap of this.#taps) tap.end()
  }

  #tick(): void {
    for (const tap of this.#taps) tap.tick()
    if (this.#taps.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** The lines that wait for one reader. */
class Tap<Line> {
  readonly #response: ServerResponse
  readonly #passes: LineFilter<Line>
  #waiting = ''
  #isPlanned = false
  #dropped = 0
  #stalled = 0

  constructor(response: ServerResponse, passes: LineFilter<Line>) {
    this.#response = response
    this.#passes = passes
  }

  take(line: Line): void {
    if (!this.#passes(line)) return
    if (this.#waiting.length + this.#response.writableLength > MAX_WAITING) {
      this.#dropped++
      return
    }
    this.#waiting += `data: ${JSON.stringify(line)}\n\n`
    if (this.#isPlanned) return
    this.#isPlanned = true
    // The calls of one turn are one write.
    setImmediate(() => this.#flush())
  }

  /** Shows that the stream is alive, and what was dropped. */
  tick(): void {
    this.#stalled = this.#response.writableNeedDrain ? this.#stalled + 1 : 0
    if (this.#stalled > MAX_STALLED) {
      this.#response.destroy()
      return
    }
    if (this.#stalled > 0) return
    if (this.#waiting === '') this.#waiting = ':\n\n'
    this.#flush()
  }

  end(): void {
    this.#flush()
    this.#response.end()
  }

  #flush(): void {
    this.#isPlanned = false
    if (this.#waiting === '' || this.#response.destroyed) return
    // A reader that is behind gets the calls that wait once it has read those before.
    if (this.#response.writableLength > MAX_WAITING) return
    const dropped = this.#dropped
    this.#dropped = 0
    const gap = dropped > 0 ? `event: dropped\ndata: {"dropped":${dropped}}\n\n` : ''
    this.#response.write(`${this.#waiting}${gap}`)
    this.#waiting = ''
  }
}
