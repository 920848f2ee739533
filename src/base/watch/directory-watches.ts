import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { WatchedDirectory } from './watched-paths.ts'

interface Watch {
  /** Undefined when the watch could not be set up. */
  watcher: FSWatcher | undefined
  /** Distinguishes a directory from another one at the same path. */
  readonly identity: string
  /** Names of entries that changed while they were not of interest. */
  readonly unheeded: Set<string>
  /** True when the directory may have been removed or renamed, so that events are unreliable. */
  isStale: boolean
  hasFailed: boolean
}

/** The most names that are kept between two looks at a directory. */
const MAX_UNHEEDED = 1_000

/** Watches a set of directories, and reports possible changes. */
export class DirectoryWatches {
  readonly #onHint: () => void
  readonly #onError: (error: unknown) => void
  readonly #watches = new Map<string, Watch>()
  #directories: ReadonlyMap<string, WatchedDirectory> = new Map()
  #closed = false

  constructor(onHint: () => void, onError: (error: unknown) => void) {
    this.#onHint = onHint
    this.#onError = onError
  }

  /** Watches exactly these directories. */
  async follow(directories: ReadonlyMap<string, WatchedDirectory>): Promise<void> {
    this.#directories = directories
    this.#heed()
    for (const [directory, each] of this.#watches) {
      const isSame =
        !each.isStale &&
        directories.has(directory) &&
        each.identity === (await identityOf(directory))
      if (!isSame) this.#drop(directory, each)
    }
    for (const directory of directories.keys()) {
      if (this.#watches.has(directory)) continue
      const identity = await identityOf(directory)
      if (this.#closed) return
      if (identity === undefined) continue
      // It has been replaced since it was found: without a watch nothing would report that.
      if (identity === GONE) this.#onHint()
      else this.#add(directory, identity)
    }
  }

  /** Reports changes of entries that became of interest only after they had changed. */
  #heed(): void {
    for (const [directory, { unheeded }] of this.#watches) {
      const isFull = unheeded.size >= MAX_UNHEEDED
      if (isFull || [...unheeded].some((name) => this.#concerns(directory, name))) this.#onHint()
      unheeded.clear()
    }
  }

  /** Lets the next `follow` try again what failed. */
  retry(): void {
    for (const each of this.#watches.values()) each.isStale ||= each.hasFailed
  }

  /** Stops watching. */
  close(): void {
    this.#closed = true
    for (const [directory, each] of this.#watches) this.#drop(directory, each)
  }

  #add(directory: string, identity: string): void {
    const unheeded = new Set<string>()
    const entry: Watch = {
      watcher: undefined,
      identity,
      unheeded,
      isStale: false,
      hasFailed: false,
    }
    this.#watches.set(directory, entry)
    const failed = (error: unknown): void => {
      entry.hasFailed = true
      this.#onError(error)
    }
    try {
      // The directory alone: the kernel reports changes of its entries. Any event may be late or
      // missing: they are hints.
      entry.watcher = watch(directory, { persistent: false }, (_, name) =>
        this.#changed(directory, entry, name),
      ).on('error', failed)
    } catch (error) {
      // Without the directory, something else has taken its place: it is looked at again.
      if (!isGone(error)) return failed(error)
      entry.isStale = true
    }
    // Changes before the watch cause no event.
    this.#onHint()
  }

  #changed(directory: string, entry: Watch, name: string | null): void {
    const { unheeded } = entry
    // This event reports the removal of the directory.
    if (name === basename(directory)) entry.isStale = true
    if (name === null || entry.isStale || this.#concerns(directory, name)) this.#onHint()
    else if (unheeded.size < MAX_UNHEEDED) unheeded.add(name)
  }

  #concerns(directory: string, name: string): boolean {
    return this.#directories.get(directory)?.concerns(name) ?? false
  }

  #drop(directory: string, { watcher }: Watch): void {
    this.#watches.delete(directory)
    watcher?.close()
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')
}

const GONE = 'gone'

/**
 * Returns the identity of a directory, `GONE` without one, and undefined where it cannot be read.
 */
async function identityOf(directory: string): Promise<string | undefined> {
  try {
    const { dev, ino, birthtimeNs } = await stat(directory, { bigint: true })
    return `${dev}:${ino}:${birthtimeNs}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? GONE : undefined
  }
}
