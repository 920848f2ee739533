import type { Fields } from '../../base/values.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { textBefore, writtenAt } from '../../cluster/kube/config-map-rules.ts'
import { equalityLabels } from '../../cluster/kube/targets.ts'
import { anchorText } from '../../rules/file/anchor-text.ts'
import { targetText } from '../../rules/file/target-text.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The rules as they are for the pods that a selector means, and for no others. */
export function textForPods(text: string, selector: string | undefined): string {
  if (selector === undefined) return text
  const labels = equalityLabels(selector)
  if (labels === undefined) {
    throw new UsageError(
      'BAD_VALUE',
      `--selector: ${quoted(selector)} says more than which labels are equal, and rules cannot say that`,
      'write match: { podLabels: { app: shop } }, with any and not, into the rules, and leave --selector out',
    )
  }
  const targeted = targetText(text, labels)
  if (targeted.ok) return targeted.text
  throw new UsageError('BAD_COMBINATION', targeted.wrong, targeted.fix)
}

/** The present rules, and when they are replaced. */
export interface Writing {
  readonly before: Fields | undefined
  readonly key: string
  readonly now: number
  /** The time for which the rules may act, in milliseconds. */
  readonly lastsMs: number | undefined
}

/** The rules with the time at which each of them was applied. */
export function textWithTimes(text: string, { before, key, now, lastsMs }: Writing): string {
  const anchored = anchorText(text, {
    now,
    before: textBefore(before, key),
    beforeAt: writtenAt(before, key),
    lasts: lastsMs,
  })
  if (anchored !== undefined) return anchored
  throw new UsageError(
    'BAD_FILE',
    'the rules are written in a way in which appliedAt cannot be added to them',
    'write the keys of the file as a map and the rules as a list, without aliases for either',
  )
}
