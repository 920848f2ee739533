import { ChunkRun, MAX_CHUNKS } from '../chunk-run.ts'

const CR = 13
const LF = 10
const ZERO = 0x30
/** The most digits of a chunk size; longer sizes (from 256 MiB) go to the standard parser. */
const DIGITS = 7

/** Receives the data of a body. */
export interface PieceTaker {
  /** True while no more runs are wanted. */
  readonly paused: boolean
  /** Receives the body bytes from `from` to `to`. */
  piece(bytes: Buffer, from: number, to: number): void
  /** Receives whole chunks. */
  run(run: ChunkRun): void
}

/**
 * The result of reading: `more` needs more bytes, `whole` is the end of the body, `unsupported`
 * goes to the standard parser, and `broken` is invalid for every parser.
 */
export type ChunksState = 'more' | 'whole' | 'unsupported' | 'broken'

/** Shared by all bodies: a run is consumed before the next one is read. */
const RUN = new ChunkRun()

/** Reads chunked bodies without chunk extensions and trailers. */
export class ChunkReader {
  /** The offset behind the bytes that were read, or of the chunk that is unsupported. */
  at = 0
  /** The remaining bytes of the current chunk, with its line break. */
  left = 0
  /** The incomplete size line of a chunk. */
  #kept: Buffer | undefined

  /** Prepares for another body. */
  reset(): void {
    this.left = 0
    this.#kept = undefined
  }

  /** Takes the incomplete size line that arrived with an earlier read. */
  takeKept(): Buffer | undefined {
    const kept = this.#kept
    this.#kept = undefined
    return kept
  }

  /**
   * Reads bytes up to `end`, or up to the end of a run after which no more are wanted. With
   * `unsupported`, the kept bytes (`takeKept`) precede those at `at`.
   */
  read(bytes: Buffer, from: number, end: number, taker: PieceTaker): ChunksState {
    this.at = from
    for (;;) {
      if (this.left > 0) {
        if (!this.#data(bytes, end, taker)) return 'broken'
        if (this.left > 0) return 'more'
      }
      let more = this.#kept === undefined
      while (more) {
        more = this.#run(bytes, end, taker)
        if (more && taker.paused) return 'more'
      }
      const size = this.#size(bytes, end)
      if (typeof size === 'string') return size
      // The chunk's bytes include the line break behind its data.
      this.left = size + 2
    }
  }

  /**
   * Passes on the whole chunks that are framed as by node:http; returns true when they fill a run.
   */
  #run(bytes: Buffer, end: number, taker: PieceTaker): boolean {
    const first = this.at
    RUN.begin(bytes, first)
    let at = first
    while (RUN.count < MAX_CHUNKS) {
      let size = 0
      let line = at
      for (; line < end && line - at < DIGITS; line++) {
        const digit = lowerHexDigit(bytes[line]!)
        if (digit < 0) break
        size = size * 16 + digit
      }
      const begin = line + 2
      const behind = begin + size
      if (bytes[at] === ZERO || line === at || behind + 2 > end) break
      if (!isLineBreak(bytes, line) || !isLineBreak(bytes, behind)) break
      RUN.add(begin, behind)
      at = behind + 2
    }
    if (at === first) return false
    this.at = at
    taker.run(RUN)
    return RUN.count === MAX_CHUNKS
  }

  /** Passes on the available data of a chunk; returns false when its line break is missing. */
  #data(bytes: Buffer, end: number, taker: PieceTaker): boolean {
    const data = Math.min(this.left - 2, end - this.at)
    if (data > 0) {
      taker.piece(bytes, this.at, this.at + data)
      this.at += data
      this.left -= data
    }
    while (this.left > 0 && this.left <= 2 && this.at < end) {
      if (bytes[this.at] !== (this.left === 2 ? CR : LF)) return false
      this.at++
      this.left--
    }
    return true
  }

  /** Reads the size of the chunk that begins here; returns a state when there is none. */
  #size(bytes: Buffer, end: number): number | ChunksState {
    const kept = this.#kept
    const source = kept === undefined ? bytes : joined(kept, bytes, this.at, end)
    const begin = kept === undefined ? this.at : 0
    const limit = kept === undefined ? end : source.length
    let at = begin
    let size = 0
    for (; at < limit && at - begin <= DIGITS; at++) {
      const code = source[at]!
      const digit = lowerHexDigit(code >= 0x41 ? code | 0x20 : code)
      if (digit < 0) break
      size = size * 16 + digit
    }
    if (at === begin ? begin < limit : at - begin > DIGITS) return 'unsupported'
    // A second line break follows the last chunk.
    const tail = at > begin && size === 0 ? LAST : LINE
    for (let i = 0; i < tail.length; i++) {
      if (at + i >= limit) return this.#keep(source, begin, limit)
      if (source[at + i] !== tail[i]) return 'unsupported'
    }
    this.at += at + tail.length - begin - (kept?.length ?? 0)
    this.#kept = undefined
    return tail === LAST ? 'whole' : size
  }

  #keep(source: Buffer, begin: number, limit: number): ChunksState {
    this.at += limit - begin - (this.#kept?.length ?? 0)
    this.#kept = begin === limit ? undefined : Buffer.from(source.subarray(begin, limit))
    return 'more'
  }
}

const LINE: readonly number[] = [CR, LF]
const LAST: readonly number[] = [CR, LF, CR, LF]
/** The longest size line. */
const LONGEST = DIGITS + 1 + LAST.length

function joined(kept: Buffer, bytes: Buffer, from: number, end: number): Buffer {
  return Buffer.concat([kept, bytes.subarray(from, Math.min(end, from + LONGEST))])
}

function isLineBreak(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF
}

function lowerHexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1
}
