import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import type { CallLine } from './call-line.ts'
import type { Logger } from './log.ts'

/** The bytes that wait to be written; further lines are dropped and counted. */
const MAX_WAITING = 1024 * 1024
const FLUSH_MS = 200
/**
 * The path is compared with the open file once in this time; dropped lines are logged once in the
 * other.
 */
const CHECK_MS = 1_000
const REPORT_MS = 5_000
// Opening a named pipe without a reader would block forever.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
const MODE = 0o640

/** Takes the lines of calls. */
export interface AccessLog {
  take(line: CallLine): void
  /** Opens the file anew, after it was moved. */
  reopen(): void
  /** Writes what waits, and closes the file. */
  close(): Promise<void>
}

/** Opens a file, or standard output for `-`. Rejects when the file cannot be opened. */
export async function openAccessLog(path: string, logger: Logger): Promise<AccessLog> {
  if (path === '-') return new OutputLog(logger)
  return new FileLog(path, await open(path, FLAGS, MODE), logger)
}

/** Counts dropped lines, and logs them at a bounded rate. */
class Dropped {
  readonly #logger: Logger
  #lines = 0
  #reportedAt = -Infinity

  constructor(logger: Logger) {
    this.#logger = logger
  }

  add(lines: number, why: string): void {
    this.#lines += lines
    const now = performance.now()
    if (now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    this.#logger.warn({ lines: this.#lines, why }, 'lines of the access log were dropped')
    this.#lines = 0
  }
}

class OutputLog implements AccessLog {
  readonly #dropped: Dropped

  constructor(logger: Logger) {
    this.#dropped = new Dropped(logger)
  }

  take(line: CallLine): void {
    const { stdout } = process
    if (stdout.writableLength > MAX_WAITING) this.#dropped.add(1, 'nobody reads standard output')
    else stdout.write(`${JSON.stringify(line)}\n`)
  }

  reopen(): void {}

  async close(): Promise<void> {}
}

/**
 * Appends lines to a file that may be moved: to its old place until it is moved, and then to a new
 * file.
 */
class FileLog implements AccessLog {
  readonly #path: string
  readonly #logger: Logger
  readonly #dropped: Dropped
  #handle: FileHandle | undefined
  #waiting = ''
  #lines = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isStale = false
  #checkedAt = performance.now()

  constructor(path: string, handle: FileHandle, logger: Logger) {
    this.#path = path
    this.#handle = handle
    this.#logger = logger
    this.#dropped = new Dropped(logger)
  }

  take(line: CallLine): void {
    if (this.#waiting.length > MAX_WAITING) {
      this.#dropped.add(1, 'the file is written too slowly')
      return
    }
    this.#waiting += `${JSON.stringify(line)}\n`
    this.#lines++
    this.#timer ??= setTimeout(() => this.#next(), FLUSH_MS)
  }

  reopen(): void {
    this.#isStale = true
    this.#next()
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#next()
    await this.#writing
    await this.#handle?.close()
  }

  /** Writes after what is being written. */
  #next(): void {
    this.#writing = this.#writing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#waiting
    const lines = this.#lines
    this.#waiting = ''
    this.#lines = 0
    try {
      await this.#follow()
      if (text !== '') await this.#handle!.appendFile(text)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (lines > 0) this.#dropped.add(lines, code ?? message)
    }
  }

  /** Opens the path anew where another file, or none, is there now. */
  async #follow(): Promise<void> {
    const now = performance.now()
    if (!this.#isStale && this.#handle !== undefined && now - this.#checkedAt < CHECK_MS) return
    this.#checkedAt = now
    if (!this.#isStale && this.#handle !== undefined) {
      const [own, found] = await Promise.all([
        this.#handle.stat(),
        stat(this.#path).catch(() => undefined),
      ])
      if (found?.ino === own.ino && found.dev === own.dev) return
    }
    const before = this.#handle
    this.#handle = await open(this.#path, FLAGS, MODE)
    this.#isStale = false
    await before?.close()
    this.#logger.info({ path: this.#path }, 'the access log was opened anew')
  }
}
