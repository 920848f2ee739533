import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, rename } from 'node:fs/promises'
import type { Logger } from './log.ts'

/** Takes bytes in order. */
export interface CallLogOutput {
  /** Prepares for a number of bytes; returns true when they go to another file than those before. */
  prepare(bytes: number): Promise<boolean>
  /** Returns how many of the bytes were written. */
  write(bytes: Buffer): Promise<number>
  /** Opens the file anew before the next write. */
  reopen(): void
  close(): Promise<void>
}

/** The path is compared with the open file once in this time. */
const CHECK_MS = 1_000
// Opening a named pipe without a reader would block forever. A symbolic link could lead anywhere.
const FLAGS =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NONBLOCK |
  constants.O_NOFOLLOW
const MODE = 0o600

/**
 * Appends to a file that is rotated by size and may be moved: to its old place until it is moved,
 * and then to a new file.
 */
export class FileOutput implements CallLogOutput {
  readonly #path: string
  readonly #maxBytes: number
  readonly #logger: Logger
  #handle: FileHandle
  #stat: Stats
  #size: number
  #isStale = false
  #checkedAt = performance.now()

  private constructor(
    path: string,
    maxBytes: number,
    logger: Logger,
    [handle, stat]: readonly [FileHandle, Stats],
  ) {
    this.#path = path
    this.#maxBytes = maxBytes
    this.#logger = logger
    this.#handle = handle
    this.#stat = stat
    this.#size = stat.size
  }

  static async open(path: string, maxBytes: number, logger: Logger): Promise<FileOutput> {
    return new FileOutput(path, maxBytes, logger, await opened(path))
  }

  reopen(): void {
    this.#isStale = true
  }

  async prepare(bytes: number): Promise<boolean> {
    const before = this.#stat
    const isDue = performance.now() - this.#checkedAt >= CHECK_MS
    if (this.#isStale || isDue || this.#isFull(bytes)) await this.#follow()
    if (this.#isFull(bytes)) {
      await rename(this.#path, `${this.#path}.1`)
      await this.#open()
    }
    return !isSame(before, this.#stat)
  }

  async write(bytes: Buffer): Promise<number> {
    const { bytesWritten } = await this.#handle.write(bytes)
    this.#size += bytesWritten
    return bytesWritten
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  #isFull(bytes: number): boolean {
    return this.#stat.isFile() && this.#size > 0 && this.#size + bytes > this.#maxBytes
  }

  /** Opens the path anew where another file, or none, is there now. */
  async #follow(): Promise<void> {
    this.#checkedAt = performance.now()
    const [own, found] = await Promise.all([
      this.#handle.stat(),
      lstat(this.#path).catch(() => undefined),
    ])
    // Others may append, or truncate.
    this.#size = own.size
    if (this.#isStale || found === undefined || !isSame(own, found)) await this.#open()
  }

  async #open(): Promise<void> {
    const [handle, stat] = await opened(this.#path)
    const before = this.#handle
    const isNew = !isSame(stat, this.#stat)
    this.#handle = handle
    this.#stat = stat
    this.#size = stat.size
    this.#isStale = false
    if (isNew) this.#logger.info({ path: this.#path }, 'the call log was reopened')
    await before.close()
  }
}

async function opened(path: string): Promise<readonly [FileHandle, Stats]> {
  const handle = await open(path, FLAGS, MODE)
  return [handle, await handle.stat()]
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev
}
