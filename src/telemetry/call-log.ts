import { setTimeout as sleep } from 'node:timers/promises'
import { type CallLogOutput, FileOutput } from './call-log-file.ts'
import type { CallLine } from './call-line.ts'
import type { Logger } from './log.ts'

/** The bytes that wait to be written; further lines are dropped. */
const MAX_WAITING = 1024 * 1024
const FLUSH_MS = 200
/** A problem is logged once in this time. */
const REPORT_MS = 10_000
/** The time to write at the end. */
const CLOSE_MS = 1_000
const NEWLINE = 10
const TOO_SLOW = 'it is written too slowly'

/** The result of a line. */
export type LoggedLine = 'written' | 'dropped'

/** Counts the lines of the call log. */
export type CountLines = (result: LoggedLine, lines: number) => void

/** Configures the call log. */
export interface CallLogOptions {
  /** A file, or `-` for standard output. */
  readonly path: string
  /** The size at which the file is rotated. */
  readonly maxBytes: number
  readonly count: CountLines
  readonly logger: Logger
}

/** Opens the call log. Rejects when its file cannot be opened. */
export async function openCallLog(options: CallLogOptions): Promise<CallLog> {
  const { path, maxBytes, logger } = options
  const output = path === '-' ? STDOUT : await FileOutput.open(path, maxBytes, logger)
  return new CallLog(output, options)
}

const STDOUT: CallLogOutput = {
  prepare: () => Promise.resolve(false),
  write: (bytes) =>
    new Promise((done, fail) => {
      process.stdout.write(bytes, (error) => (error ? fail(error) : done(bytes.length)))
    }),
  reopen: () => undefined,
  close: () => Promise.resolve(),
}

/**
 * Writes a line of JSON for each call, in batches. Calls never wait: lines wait for a slow or full
 * disk up to a bound, and further lines are dropped and counted.
 */
export class CallLog {
  readonly #output: CallLogOutput
  readonly #options: CallLogOptions
  /** The bytes of lines that wait: as strings they would be moved by each collection. */
  readonly #buffer = Buffer.allocUnsafeSlow(MAX_WAITING)
  #waiting = 0
  #waitingLines = 0
  /** The bytes that are being written: whole lines, the first of which may have begun. */
  #batch = Buffer.alloc(0)
  #batchLines = 0
  #hasBegunLine = false
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  #problem: string | undefined
  #dropped = 0
  #reportedAt = -Infinity

  constructor(output: CallLogOutput, options: CallLogOptions) {
    this.#output = output
    this.#options = options
  }

  take(line: CallLine): void {
    const text = `${JSON.stringify(line)}\n`
    // A character has three bytes at most.
    if (this.#waiting + this.#batch.length + 3 * text.length > MAX_WAITING) {
      this.#drop(1, this.#problem ?? TOO_SLOW)
      return
    }
    this.#waiting += this.#buffer.write(text, this.#waiting)
    this.#waitingLines++
    this.#plan()
  }

  /** Opens the file anew, after it was moved. */
  reopen(): void {
    this.#output.reopen()
    void this.#flush()
  }

  /** Writes what waits, for a limited time, and closes the file. */
  async close(): Promise<void> {
    const end = new AbortController()
    const limit = sleep(CLOSE_MS, undefined, { signal: end.signal }).catch(() => undefined)
    const over = performance.now() + CLOSE_MS
    while (this.#lines > 0 && performance.now() < over) {
      await Promise.race([this.#flush(), limit])
      if (this.#lines > 0) await sleep(FLUSH_MS / 4)
    }
    clearTimeout(this.#timer)
    const left = this.#lines
    this.#reportedAt = -Infinity
    if (left > 0) this.#drop(left, this.#problem ?? TOO_SLOW)
    else if (this.#dropped > 0) this.#report(TOO_SLOW)
    await Promise.race([this.#output.close(), limit])
    end.abort()
  }

  /** The lines that are not written yet. */
  get #lines(): number {
    return this.#batchLines + this.#waitingLines
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS)
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined
      if (this.#lines > 0) this.#plan()
    })
    return this.#flushing
  }

  async #write(): Promise<void> {
    if (this.#batchLines === 0) {
      this.#batch = Buffer.from(this.#buffer.subarray(0, this.#waiting))
      this.#batchLines = this.#waitingLines
      this.#waiting = 0
      this.#waitingLines = 0
    }
    try {
      if ((await this.#output.prepare(this.#batch.length)) && this.#hasBegunLine) this.#skipLine()
      while (this.#batch.length > 0) {
        const written = await this.#output.write(this.#batch)
        this.#hasBegunLine = this.#batch[written - 1] !== NEWLINE
        this.#batch = this.#batch.subarray(written)
      }
      this.#options.count('written', this.#batchLines)
      this.#batchLines = 0
      this.#problem = undefined
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.#problem = code ?? message
      // A pipe is full until its reader reads.
      if (code !== 'EAGAIN') {
        this.#output.reopen()
        this.#report(this.#problem)
      }
    }
  }

  /** Drops the rest of a line that began in another file. */
  #skipLine(): void {
    this.#batch = this.#batch.subarray(this.#batch.indexOf(NEWLINE) + 1)
    this.#batchLines--
    this.#hasBegunLine = false
    this.#drop(1, 'the log file was moved during a write')
  }

  #drop(lines: number, why: string): void {
    this.#options.count('dropped', lines)
    this.#dropped += lines
    this.#report(why)
  }

  #report(why: string): void {
    const now = performance.now()
    if (now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    const { path, logger } = this.#options
    const message =
      this.#dropped > 0
        ? 'lines of the call log were dropped'
        : 'the call log cannot be written; up to 1 MiB of lines waits'
    logger.warn({ path, why, ...(this.#dropped > 0 && { lines: this.#dropped }) }, message)
    this.#dropped = 0
  }
}
