import { setTimeout as sleep } from 'node:timers/promises'
import { Debounce } from './debounce.ts'
import { DirectoryWatches } from './directory-watches.ts'
import { fileDirectories, type WatchedDirectory } from './watched-paths.ts'

/** Returns the directories through which files are found now. */
type Directories = () => Promise<ReadonlyMap<string, WatchedDirectory>>

export interface WatchedFilesOptions {
  /** The quiet time after a change before the files are read. */
  readonly settleMs: number
  /**
   * The interval at which the files are read without an event: not every file system reports every
   * change.
   */
  readonly pollMs: number
  /** False relies on polling alone, for file systems without events. */
  readonly events?: boolean | undefined
  /** Receives what failed: setting up a watch for events, or a look. */
  readonly onError?: ((error: unknown, failed: 'events' | 'look') => void) | undefined
}

/** A file system that hangs must not keep the process alive. */
const CLOSE_LIMIT = 1_000

/**
 * Calls `onLook` at the start and whenever files may have changed, through all symbolic links. The
 * files are given by their paths, or by the directories to watch after each look.
 */
export class WatchedFiles {
  readonly #directories: Directories
  readonly #onLook: () => void | Promise<void>
  readonly #options: WatchedFilesOptions
  readonly #watches: DirectoryWatches
  readonly #debounce: Debounce
  readonly #closing = new AbortController()
  #poll: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isWanted = false

  constructor(
    files: readonly string[] | Directories,
    onLook: () => void | Promise<void>,
    options: WatchedFilesOptions,
  ) {
    this.#directories = typeof files === 'function' ? files : () => fileDirectories(files)
    this.#onLook = onLook
    this.#options = options
    this.#debounce = new Debounce(options.settleMs, () => void this.look())
    this.#watches = new DirectoryWatches(this.#debounce.hint, (error) => {
      options.onError?.(error, 'events')
    })
  }

  /** Aborted when the watch is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal
  }

  /** True when the files may have changed since the look in progress began. */
  get isWanted(): boolean {
    return this.#isWanted
  }

  /** Takes hints so far as seen: `onLook` is about to read again. */
  seen(): void {
    this.#isWanted = false
  }

  /** Resolves after the first look. */
  start(): Promise<void> {
    this.#poll = setInterval(() => {
      this.#watches.retry()
      void this.look()
    }, this.#options.pollMs).unref()
    return this.look()
  }

  /** Ends the watch at once; waits shortly for a look in progress. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#poll)
    this.#debounce.cancel()
    await Promise.all([
      this.#watches.close(),
      Promise.race([this.#looking, sleep(CLOSE_LIMIT, undefined, { ref: false })]),
    ])
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
    const { events = true, onError } = this.#options
    while (this.#isWanted && !this.closed.aborted) {
      this.#isWanted = false
      try {
        await this.#onLook()
        if (!events || this.closed.aborted) continue
        const directories = await this.#directories()
        if (!this.closed.aborted) await this.#watches.follow(directories)
      } catch (error) {
        onError?.(error, 'look')
      }
    }
  }
}
