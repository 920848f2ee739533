import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Arming } from '../guard/arming.ts'
import type { PodLabels } from './pod-labels.ts'
import { isRulesFileName } from '../file/rules-file.ts'
import { type SmallFile, watchSmallFile } from '../../base/watch/small-file-watcher.ts'
import type { WatchedFiles } from '../../base/watch/watched-files.ts'
import { STOP_KEY, stopReason } from '../guard/stop-key.ts'

/** The kubelet swaps all files of a ConfigMap, so a file may be missing for a moment. */
const SETTLE = 50

/** Disarms all rules while a stop key beside the rules matches this pod. */
export class StopWatcher {
  readonly #rules: string
  readonly #arming: Arming
  #labels: PodLabels | undefined
  #watcher: WatchedFiles | undefined
  #text: string | undefined
  #isAbsent = false

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

  async #take(file: SmallFile): Promise<void> {
    const wasAbsent = this.#isAbsent
    this.#isAbsent = 'absent' in file && file.absent
    if ('text' in file) this.#text = file.text
    else if (!file.absent) {
      // An unreadable key may be a stop.
      this.#text = '?'
    } else if (this.#text !== undefined && !wasAbsent) {
      await sleep(SETTLE, undefined, { ref: false })
      void this.#watcher?.look()
      return
    } else this.#text = undefined
    this.#judge()
  }

  #judge(): void {
    const reason = this.#text === undefined ? undefined : stopReason(this.#text, this.#labels)
    if (reason === undefined) this.#arming.lift('stopped')
    else this.#arming.disarm('stopped', reason)
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
