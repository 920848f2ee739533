import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Arming } from '../guard/arming.ts'
import type { PodLabels } from './pod-labels.ts'
import { isRulesFileName } from '../file/rules-file.ts'
import { type SmallFile, watchSmallFile } from '../../base/watch/small-file-watcher.ts'
import type { WatchedFiles } from '../../base/watch/watched-files.ts'
import { STOP_KEY, stopReason } from '../guard/stop-key.ts'

const GONE = `; the key ${STOP_KEY} is gone; squall resume -n ends the stop`

/**
 * Disarms all rules while a stop key beside the rules matches this pod. A key that goes keeps its
 * stop: a tool may have replaced the whole ConfigMap. A key without stops ends it.
 */
export class StopWatcher {
  readonly #rules: string
  readonly #arming: Arming
  #labels: PodLabels | undefined
  #watcher: WatchedFiles | undefined
  #text: string | undefined
  #isGone = false

  constructor(rules: string, labels: PodLabels | undefined, arming: Arming) {
    this.#rules = rules
    this.#labels = labels
    this.#arming = arming
  }

  /** Resolves when it is known whether the pod is stopped. */
  async start(): Promise<void> {
    const path = await stopPath(this.#rules)
    this.#watcher = watchSmallFile(path, (file) => this.#take(file))
    await this.#watcher.start()
  }

  /** Updates the labels of the pod. */
  identify(labels: PodLabels | undefined): void {
    this.#labels = labels
    this.#judge()
  }

  async close(): Promise<void> {
    await this.#watcher?.close()
  }

  #take(file: SmallFile): void {
    this.#isGone = 'absent' in file && file.absent
    if ('text' in file) this.#text = file.text
    // An unreadable key may be a stop.
    else if (!file.absent) this.#text = '?'
    this.#judge()
  }

  #judge(): void {
    const reason = this.#text === undefined ? undefined : stopReason(this.#text, this.#labels)
    if (reason === undefined) this.#arming.lift('stopped')
    else this.#arming.disarm('stopped', `${reason}${this.#isGone ? GONE : ''}`)
  }
}

/** Returns the path of the stop key: beside a rules file, or in their directory. */
async function stopPath(rules: string): Promise<string> {
  const isDirectory = await stat(rules).then(
    (stats) => stats.isDirectory(),
    () => !isRulesFileName(rules),
  )
  return join(isDirectory ? rules : dirname(rules), STOP_KEY)
}
