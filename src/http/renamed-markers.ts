import { asBuffer, positionOf } from '../base/bytes.ts'
import type { ChunkRun } from './chunk-run.ts'
import type { HeaderLines, ResponseHead } from './headers.ts'
import { responseFactsOf } from './response-facts.ts'
import type { ResponseSink } from './transfer.ts'

/** The prefix of Squall's own response headers. */
const OWN = 'x-squall-'
const RENAMED = 'x-upstream-squall-'

/** Returns true for a header that only Squall may send to a client. */
export function isSquallHeader(name: string): boolean {
  return name.length > OWN.length && name.slice(0, OWN.length).toLowerCase() === OWN
}

/** Renames upstream headers that a client could take for Squall's own. */
export function renameSquallHeaders(lines: HeaderLines): HeaderLines {
  for (let i = 0; i < lines.length; i += 2) {
    if (!isSquallHeader(lines[i]!)) continue
    return lines.map((part, at) =>
      at % 2 === 0 && isSquallHeader(part) ? RENAMED + part.slice(OWN.length) : part,
    )
  }
  return lines
}

/** Longer runs are not written as text. */
const LONG = 16 * 1024
const COMMENT = Buffer.from(`: ${OWN}`)
const LF = 10
const CR = 13
const REPLACEMENT = '_'.charCodeAt(0)

/**
 * Changes comments of an event stream that look like Squall's markers: one byte is replaced in
 * place, so that lengths and chunks stay the same.
 */
export class MarkerRenamer {
  /** The number of bytes of the prefix that the current line has; -1 for another line. */
  #matched = 0

  /** Cleans the next bytes of a stream. */
  clean(bytes: Uint8Array): void {
    const isQuiet = this.#isQuiet(bytes, bytes.length) && !asBuffer(bytes).includes(OWN)
    if (!isQuiet) this.#clean(bytes, 0, bytes.length)
  }

  /** Cleans the next chunks of a stream. */
  cleanRun(run: ChunkRun): void {
    const { bytes, count } = run
    let isQuiet = true
    for (let i = 0; i < count && isQuiet; i++) isQuiet = this.#isQuiet(bytes, run.ends(i))
    if (isQuiet && !(run.to - run.from > LONG ? run.copy : run.text).includes(OWN)) return
    run.change()
    for (let i = 0; i < count; i++) this.#clean(bytes, run.begins(i), run.ends(i))
  }

  /** Returns true when these bytes begin and end at a line, as most events do. */
  #isQuiet(bytes: Uint8Array, end: number): boolean {
    const last = bytes[end - 1]
    return this.#matched === 0 && (last === LF || last === CR)
  }

  #clean(bytes: Uint8Array, from: number, to: number): void {
    const part = asBuffer(bytes).subarray(from, to)
    let matched = this.#matched
    let lf = -1
    let cr = -1
    for (let at = 0; at < part.length; at++) {
      if (matched < 0) {
        // Nothing but the end of the line matters.
        if (lf < at) lf = positionOf(part, LF, at)
        if (cr < at) cr = positionOf(part, CR, at)
        at = Math.min(lf, cr)
        if (at === part.length) break
      }
      const byte = part[at]!
      if (byte === LF || byte === CR) matched = 0
      else if (byte !== COMMENT[matched]) matched = -1
      else if (++matched === COMMENT.length) {
        part[at] = REPLACEMENT
        matched = -1
      }
    }
    this.#matched = matched
  }
}

/** Returns a sink for the body behind a head that changes foreign markers in event streams. */
export function renameMarkers(head: ResponseHead, sink: ResponseSink): ResponseSink {
  const { streams, coding } = responseFactsOf(head)
  // Compressed bodies are not read: Squall writes no markers into them.
  return streams && coding === 'identity' ? new RenamingSink(sink) : sink
}

class RenamingSink implements ResponseSink {
  readonly info: ResponseSink['info']
  readonly head: ResponseSink['head']
  readonly end: ResponseSink['end']
  readonly fail: ResponseSink['fail']
  readonly chunks?: (run: ChunkRun) => boolean
  readonly #sink: ResponseSink
  readonly #comments = new MarkerRenamer()

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
