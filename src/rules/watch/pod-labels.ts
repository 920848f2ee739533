import { parsedJson } from '../../base/values.ts'
import { type SmallFile, watchSmallFile } from '../../base/watch/small-file-watcher.ts'
import type { WatchedFiles } from '../../base/watch/watched-files.ts'

export type PodLabels = Readonly<Record<string, string>>

const LINE = /^([^=\s"]+)=("(?:[^"\\]|\\.)*")$/

/** Returns the labels in a file of the downward API, or undefined when it holds anything else. */
function parsePodLabels(text: string): PodLabels | undefined {
  const labels: Record<string, string> = Object.create(null) as Record<string, string>
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, key, quoted] = LINE.exec(line) ?? []
    const value = parsedJson(quoted ?? '') as string | undefined
    if (key === undefined || value === undefined) return undefined
    labels[key] = value
  }
  return { ...labels }
}

/** Follows the labels of the pod in a file of the downward API. */
export class PodLabelsWatcher {
  readonly #path: string
  readonly #onLabels: (labels: PodLabels | undefined) => void
  readonly #onTrouble: (message: string) => void
  readonly #watcher: WatchedFiles
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
    this.#watcher = watchSmallFile(path, (file) => this.#take(file))
  }

  /** Resolves when the labels have been read, or could not be. */
  start(): Promise<void> {
    return this.#watcher.start()
  }

  close(): Promise<void> {
    return this.#watcher.close()
  }

  #take(file: SmallFile): void {
    const text = 'text' in file ? file.text : undefined
    const labels = text === undefined ? undefined : parsePodLabels(text)
    let trouble = 'trouble' in file ? file.trouble : undefined
    if (text !== undefined && labels === undefined) trouble = 'contains no labels'
    if (trouble !== undefined && trouble !== this.#trouble) {
      this.#onTrouble(`${this.#path} ${trouble}; rules with podLabels match nothing`)
    }
    this.#trouble = trouble
    if (text !== undefined && text === this.#text) return
    this.#text = text
    this.#onLabels(labels)
  }
}
