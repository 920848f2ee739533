import { labelsText, seriesText } from './text-format.ts'
import { type LineStart, lineStart } from './text-writer.ts'

/** What stands before a rule's numbers: written once, when somebody scrapes. */
export class RuleLabel {
  /** As it stands between the braces. */
  readonly text: string
  readonly #starts = new Map<string, LineStart>()
  readonly #startsWithResult = new Map<string, LineStart>()

  constructor(rule: string) {
    this.text = labelsText({ rule })
  }

  /** Of the metric of that name. */
  start(name: string): LineStart {
    return kept(this.#starts, name, () => seriesText(name, this.text))
  }

  /** Of the metric that has the result as a label; there is one such metric. */
  startWithResult(name: string, result: string): LineStart {
    return kept(this.#startsWithResult, result, () =>
      seriesText(name, `${labelsText({ result })},${this.text}`),
    )
  }
}

function kept(starts: Map<string, LineStart>, key: string, text: () => string): LineStart {
  const known = starts.get(key)
  if (known !== undefined) return known
  const start = lineStart(text())
  starts.set(key, start)
  return start
}
