import { Debounce } from '../../base/debounce.ts'
import { DirectoryWatches } from './directory-watches.ts'
import { fileDirectories } from './watched-paths.ts'

export interface WatchedFilesOptions {
  /** The quiet time after a change before the files are read. */
  readonly settleMs: number
  /**
   * The interval at which the files are read without an event: not every file system reports every
   * change.
   */
  readonly pollMs: number
  readonly onError?: (error: unknown) => void
}

/** Calls back at the start and whenever files may have changed, through all symbolic links. */
export class WatchedFiles {
  readonly #paths: readonly string[]
  readonly #onLook: () => void | Promise<void>
  readonly #pollMs: number
  readonly #watches: DirectoryWatches
  readonly #debounce: Debounce
  #poll: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isWanted = false
  #isClosed = false

  constructor(
    paths: readonly string[],
    onLook: () => void | Promise<void>,
    { settleMs, pollMs, onError = () => undefined }: WatchedFilesOptions,
  ) {
    this.#paths = paths
    this.#onLook = onLook
    this.#pollMs = pollMs
    this.#debounce = new Debounce(settleMs, () => void this.look())
    this.#watches = new DirectoryWatches(this.#debounce.hint, onError)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves after the first look. */
  start(): Promise<void> {
    this.#poll = setInterval(() => {
      this.#watches.retry()
      void this.look()
    }, this.#pollMs).unref()
    return this.look()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#poll)
    this.#debounce.cancel()
    await this.#watches.close()
  }

  /** Looks now, or again after a look in progress. */
  look(): Promise<void> {
    this.#isWanted = true
    this.#looking ??= this.#lookWhileWanted().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false
      await this.#onLook()
      const directories = await fileDirectories(this.#paths)
      if (!this.#isClosed) await this.#watches.follow(directories).catch(() => undefined)
    }
  }
}
