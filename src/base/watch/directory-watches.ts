import { stat } from 'node:fs/promises'
import { basename, isAbsolute } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FSWatcher, watch as watchWith } from 'chokidar'
import type { WatchedDirectory } from './watched-paths.ts'

interface Watch {
  readonly directory: string
  readonly watcher: FSWatcher
  /** Reports a possible change. */
  readonly hint: () => void
  /** Resolves when the watch is set up or has failed. */
  readonly settled: Promise<void>
  /** Distinguishes a directory from another one at the same path. */
  readonly identity: string
  /** Names of entries that changed while they were not of interest. */
  readonly unheeded: Set<string>
  /** True when the directory may have been removed or renamed, so that events are unreliable. */
  isStale: boolean
  hasFailed: boolean
}

/** A file system that hangs must not delay the others. */
const SETTLE_LIMIT = 500

/** The most names that are kept between two looks at a directory. */
const MAX_UNHEEDED = 1_000

/** All open watches: chokidar shares one watch of the kernel among those of a path. */
const OPEN = new Set<Watch>()

/** Watches a set of directories, and reports possible changes. */
export class DirectoryWatches {
  readonly #onHint: () => void
  readonly #onError: (error: unknown) => void
  readonly #watches = new Map<string, Watch>()
  /** Watches that are closing. */
  readonly #ending = new Set<Promise<void>>()
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
    for (const [directory, watch] of this.#watches) {
      const isSame =
        !watch.isStale &&
        directories.has(directory) &&
        watch.identity === (await identityOf(directory))
      if (!isSame) await this.#drop(directory, watch)
    }
    const { watch } = await import('chokidar')
    for (const directory of directories.keys()) {
      if (this.#watches.has(directory)) continue
      const identity = await identityOf(directory)
      if (identity !== undefined) await endOthers(directory, identity)
      if (this.#closed) return
      if (identity === undefined) continue
      // It has been replaced since it was found: without a watch nothing would report that.
      if (identity === GONE) this.#onHint()
      else this.#add(directory, identity, watch)
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
    for (const watch of this.#watches.values()) watch.isStale ||= watch.hasFailed
  }

  /** Stops watching. */
  async close(): Promise<void> {
    this.#closed = true
    for (const [directory, watch] of this.#watches) void this.#drop(directory, watch)
    await Promise.all(this.#ending)
  }

  #add(directory: string, identity: string, watch: typeof watchWith): void {
    // The directory alone: the kernel reports changes of its entries, and a watch on each of them
    // would miss what takes its path.
    const watcher = watch(directory, {
      ignored: (path) => path !== directory,
      ignoreInitial: true,
      followSymlinks: false,
      depth: 0,
      atomic: false,
    })
    const unheeded = new Set<string>()
    const entry: Watch = {
      directory,
      watcher,
      hint: this.#onHint,
      settled: settling(watcher),
      identity,
      unheeded,
      isStale: false,
      hasFailed: false,
    }
    this.#watches.set(directory, entry)
    OPEN.add(entry)
    // The raw events, for the others are held back, thinned out, and silent on what is ignored. Any
    // of them may be late or missing: they are hints.
    watcher.on('raw', (_, path: string | null) => {
      // This event reports the removal of the directory.
      if (path === basename(directory)) entry.isStale = true
      const concerns = path === null || isAbsolute(path) || this.#concerns(directory, path)
      if (entry.isStale || concerns) this.#onHint()
      else if (unheeded.size < MAX_UNHEEDED) unheeded.add(path)
    })
    // Changes during the set-up cause no event.
    watcher.on('ready', () => {
      if (!entry.hasFailed) this.#onHint()
    })
    watcher.on('error', (error) => {
      entry.hasFailed = true
      // Something else has taken the directory's place since it was looked at: it is looked at
      // again.
      if ((error as NodeJS.ErrnoException).code === 'ELOOP') {
        entry.isStale = true
        this.#onHint()
      } else {
        this.#onError(error)
      }
    })
  }

  #concerns(directory: string, name: string): boolean {
    return this.#directories.get(directory)?.concerns(name) ?? false
  }

  #drop(directory: string, watch: Watch): Promise<void> {
    this.#watches.delete(directory)
    OPEN.delete(watch)
    const end = ended(watch).finally(() => this.#ending.delete(end))
    this.#ending.add(end)
    return end
  }
}

function settling(watcher: FSWatcher): Promise<void> {
  return new Promise((resolve) => {
    watcher.once('ready', resolve).once('error', () => resolve())
  })
}

/** Ends the watches of a directory that was replaced, so that none of them is shared. */
async function endOthers(directory: string, identity: string): Promise<void> {
  for (const other of OPEN) {
    if (other.directory !== directory || other.identity === identity) continue
    OPEN.delete(other)
    other.isStale = true
    await ended(other)
    other.hint()
  }
}

/** Closes a watch, once it is set up: otherwise it would leak its handle. */
async function ended({ watcher, settled }: Watch): Promise<void> {
  await Promise.race([settled, sleep(SETTLE_LIMIT, undefined, { ref: false })])
  watcher.removeAllListeners()
  // A later error has no listener, and must not end the process.
  watcher.on('error', () => undefined)
  const closing = watcher.close()
  watcher.on('error', () => undefined)
  await closing
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
