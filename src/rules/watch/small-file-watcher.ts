import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { Debounce } from '../../base/debounce.ts'
import { DirectoryWatches } from './directory-watches.ts'
import { watchPlaces } from './watched-paths.ts'

/** The text of a file, or why there is none; `absent` when there is no such file. */
export type SmallFile =
  { readonly text: string } | { readonly absent: boolean; readonly trouble: string }

/** Kubernetes bounds all labels and annotations of an object together by this. */
const MAX_BYTES = 256 * 1024
const POLL = 5_000

/** Reads a small file, and again whenever it may have changed. */
export class SmallFileWatcher {
  readonly #path: string
  readonly #onFile: (file: SmallFile) => void | Promise<void>
  readonly #watches: DirectoryWatches
  readonly #debounce: Debounce
  #poll: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isWanted = false
  #isClosed = false

  /** `onFile` is called after each look. */
  constructor(path: string, onFile: (file: SmallFile) => void | Promise<void>) {
    this.#path = path
    this.#onFile = onFile
    this.#debounce = new Debounce(10, () => void this.look())
    this.#watches = new DirectoryWatches(this.#debounce.hint, () => undefined)
  }

  /** Resolves after the first look. */
  start(): Promise<void> {
    this.#poll = setInterval(() => {
      this.#watches.retry()
      void this.look()
    }, POLL).unref()
    return this.look()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#poll)
    this.#debounce.cancel()
    await this.#watches.close()
  }

  /** Looks now, or again after the look that is going on. */
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
      const file = await readSmall(this.#path)
      if (this.#isClosed) return
      await this.#onFile(file)
      const places = await watchPlaces(this.#path, [], false)
      if (!this.#isClosed) await this.#watches.follow(places).catch(() => undefined)
    }
  }
}

async function readSmall(path: string): Promise<SmallFile> {
  try {
    const text = await readText(path)
    if (text !== undefined) return { text }
    return { absent: false, trouble: `has more than ${MAX_BYTES} bytes` }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const absent = code === 'ENOENT' || code === 'ENOTDIR'
    return { absent, trouble: `cannot be read: ${code ?? message}` }
  }
}

/** The text of a file; undefined when it is too long. Never waits for a pipe. */
async function readText(path: string): Promise<string | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const buffer = Buffer.alloc(MAX_BYTES + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
      if (bytesRead === 0) return buffer.toString('utf8', 0, length)
      length += bytesRead
      if (length === buffer.length) return undefined
    }
  } finally {
    await handle.close()
  }
}
