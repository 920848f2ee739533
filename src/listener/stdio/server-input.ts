import type { LinePart } from './lines.ts'
import type { PipeWriter } from './pipe-writer.ts'

const LF = 0x0a
const LINE_FEED = Uint8Array.of(LF)

/** Writes the input of the server, where no line begins within another one. */
export class ServerInput {
  readonly #pipe: PipeWriter
  /** True behind any byte but a line feed. */
  #isMidLine = false
  /** True while the parts of a long line come. */
  #isBusy = false
  /** The lines that wait for the end of a long one; the memory budget counts them. */
  #waiting: (() => void)[] = []

  constructor(pipe: PipeWriter) {
    this.#pipe = pipe
  }

  /** Writes a part of the client's lines at once. */
  pass({ kind, bytes }: LinePart): void {
    this.#write(bytes, kind !== 'more')
    this.#isBusy = this.#isMidLine && kind !== 'tail'
    this.#flush()
  }

  /** Runs `write` now, or when a long line has ended. */
  between(write: () => void): void {
    if (this.#isBusy) this.#waiting.push(write)
    else write()
  }

  /** Writes a line between two others; the client's last line may have no line feed. */
  line(bytes: Uint8Array, isTail: boolean): void {
    this.#write(bytes, true)
    if (this.#isMidLine && !isTail) this.#write(LINE_FEED, false)
  }

  /** Ends the lines of the client: a long line gets no more parts. */
  finish(): void {
    this.#isBusy = false
    this.#flush()
  }

  #write(bytes: Uint8Array, begins: boolean): void {
    if (begins && this.#isMidLine) this.#pipe.write(LINE_FEED)
    this.#pipe.write(bytes)
    this.#isMidLine = bytes.at(-1) !== LF
  }

  #flush(): void {
    if (!this.#isBusy) for (const write of this.#waiting.splice(0)) write()
  }
}
