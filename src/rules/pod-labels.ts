import { open } from 'node:fs/promises'
import { constants } from 'node:fs'
import { Debounce } from './debounce.ts'
import { DirectoryWatches } from './directory-watches.ts'
import { watchPlaces } from './watch-places.ts'

/** The labels of a pod by key. */
export type PodLabels = Readonly<Record<string, string>>

/** Kubernetes bounds all labels and annotations of an object together by this. */
const MAX_BYTES = 256 * 1024
const LINE = /^([^=\s"]+)=("(?:[^"\\]|\\.)*")$/
const POLL = 5_000

/** Returns the labels in a file of the downward API, or undefined when it holds anything else. */
export function parsePodLabels(text: string): PodLabels | undefined {
  const labels: Record<string, string> = Object.create(null) as Record<string, string>
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, key, quoted] = LINE.exec(line) ?? []
    if (key === undefined || quoted === undefined) return undefined
    try {
      labels[key] = JSON.parse(quoted) as string
    } catch {
      return undefined
    }
  }
  return { ...labels }
}

/** Reads the labels of the pod from a file of the downward API, and again whenever they change. */
export class PodLabelsWatcher {
  readonly #path: string
  readonly #onLabels: (labels: PodLabels | undefined) => void
  readonly #onTrouble: (message: string) => void
  readonly #watches: DirectoryWatches
  readonly #debounce: Debounce
  #poll: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isWanted = false
  #isClosed = false
  #text: string | undefined
  #trouble: string | undefined

  /** `onLabels` is called with undefined while the labels cannot be read. */
  constructor(
    path: string,
    onLabels: (labels: PodLabels | undefined) => void,
    onTrouble: (message: string) => void,
  ) {
    this.#path = path
    this.#onLabels = onLabels
    this.#onTrouble = onTrouble
    this.#debounce = new Debounce(10, () => void this.#look())
    this.#watches = new DirectoryWatches(this.#debounce.hint, () => undefined)
  }

  /** Resolves when the labels have been read, or could not be. */
  start(): Promise<void> {
    this.#poll = setInterval(() => {
      this.#watches.retry()
      void this.#look()
    }, POLL).unref()
    return this.#look()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#poll)
    this.#debounce.cancel()
    await this.#watches.close()
  }

  /** Looks now, or again after the look that is going on. */
  #look(): Promise<void> {
    this.#isWanted = true
    this.#looking ??= this.#lookWhileWanted().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false
      await this.#read()
      const places = await watchPlaces(this.#path, [], false)
      if (!this.#isClosed) await this.#watches.follow(places).catch(() => undefined)
    }
  }

  async #read(): Promise<void> {
    let trouble: string | undefined
    let text: string | undefined
    try {
      text = await readSmall(this.#path)
      if (text === undefined) trouble = `has more than ${MAX_BYTES} bytes`
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      trouble = `cannot be read: ${code ?? message}`
    }
    if (this.#isClosed) return
    const labels = text === undefined ? undefined : parsePodLabels(text)
    if (text !== undefined && labels === undefined) trouble = 'holds no labels'
    if (trouble !== undefined && trouble !== this.#trouble) {
      this.#onTrouble(`${this.#path} ${trouble}; rules with podLabels match nothing`)
    }
    this.#trouble = trouble
    if (text !== undefined && text === this.#text) return
    this.#text = text
    this.#onLabels(labels)
  }
}

/** The text of a file; undefined when it is too long. Never waits for a pipe. */
async function readSmall(path: string): Promise<string | undefined> {
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
