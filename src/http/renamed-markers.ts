import { asBuffer } from '../base/bytes.ts'
import type { ChunkRun } from './chunk-run.ts'
import type { HeaderLines, ResponseHead } from './headers.ts'
import { responseFactsOf } from './response-facts.ts'
import type { ResponseSink } from './transfer.ts'

/** Names of headers with which Squall says what it did begin like this. */
const OWN = 'x-squall-'
const RENAMED = 'x-upstream-squall-'

/** True for a header that only Squall may give to a client. */
export function isOwnName(name: string): boolean {
  return name.length > OWN.length && name.slice(0, OWN.length).toLowerCase() === OWN
}

/** Renames the headers by which an upstream says, as Squall would, that a fault was injected. */
export function withoutOwnNames(lines: HeaderLines): HeaderLines {
  for (let i = 0; i < lines.length; i += 2) {
    if (!isOwnName(lines[i]!)) continue
    return lines.map((part, at) =>
      at % 2 === 0 && isOwnName(part) ? RENAMED + part.slice(OWN.length) : part,
    )
  }
  return lines
}

const COMMENT = Buffer.from(`: ${OWN}`)
const LF = 10
const CR = 13
const INSTEAD = '_'.charCodeAt(0)

/**
 * Finds the comments of an event stream that look like Squall's own, and makes them other ones: one
 * byte of theirs is replaced, where it stands, so that lengths and chunks stay as they are.
 */
export class ForeignComments {
  /** How much of the beginning of such a comment this line has; -1 where it is another line. */
  #matched = 0

  /** Goes over the next bytes of a stream. */
  clean(bytes: Uint8Array): void {
    const isQuiet = this.#isQuiet(bytes, bytes.length) && !asBuffer(bytes).includes(OWN)
    if (!isQuiet) this.#clean(bytes, 0, bytes.length)
  }

  /** Goes over the next chunks of a stream. */
  cleanRun(run: ChunkRun): void {
    const { bytes, count } = run
    let isQuiet = true
    for (let i = 0; i < count && isQuiet; i++) isQuiet = this.#isQuiet(bytes, run.ends(i))
    if (isQuiet && !run.text.includes(OWN)) return
    run.change()
    for (let i = 0; i < count; i++) this.#clean(bytes, run.begins(i), run.ends(i))
  }

  /** True where no comment goes beyond these bytes: they begin and end with a line, as most events do. */
  #isQuiet(bytes: Uint8Array, end: number): boolean {
    const last = bytes[end - 1]
    return this.#matched === 0 && (last === LF || last === CR)
  }

  #clean(bytes: Uint8Array, from: number, to: number): void {
    let matched = this.#matched
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!
      if (byte === LF || byte === CR) matched = 0
      else if (matched >= 0) {
        if (byte !== COMMENT[matched]) matched = -1
        else if (++matched === COMMENT.length) {
          bytes[at] = INSTEAD
          matched = -1
        }
      }
    }
    this.#matched = matched
  }
}

/** Returns the sink for the body behind a head: marks in a stream are not passed on as Squall's. */
export function unmarked(head: ResponseHead, sink: ResponseSink): ResponseSink {
  const { streams, coding } = responseFactsOf(head)
  // Compressed bodies are not read here, and no marker in them is Squall's.
  return streams && coding === undefined ? new UnmarkedSink(sink) : sink
}

class UnmarkedSink implements ResponseSink {
  readonly info: ResponseSink['info']
  readonly head: ResponseSink['head']
  readonly end: ResponseSink['end']
  readonly fail: ResponseSink['fail']
  readonly chunks?: (run: ChunkRun) => boolean
  readonly #sink: ResponseSink
  readonly #comments = new ForeignComments()

  constructor(sink: ResponseSink) {
    this.#sink = sink
    this.info = (head) => sink.info(head)
    this.head = (head, whole) => sink.head(head, whole)
    this.end = (trailers) => sink.end(trailers)
    this.fail = (failure) => sink.fail(failure)
    if (sink.chunks === undefined) return
    this.chunks = (run) => {
      this.#comments.cleanRun(run)
      return sink.chunks!(run)
    }
  }

  data(chunk: Uint8Array): boolean {
    this.#comments.clean(chunk)
    return this.#sink.data(chunk)
  }
}
