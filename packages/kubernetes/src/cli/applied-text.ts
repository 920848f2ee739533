import { type Fields, quoted } from '#base'
import { textBefore, writtenAt } from '../kube/config-map-rules.ts'
import { equalityLabels } from '../kube/targets.ts'
import { anchorText, targetText } from '#rules'
import { invalidCombination, invalidFile, invalidOption } from '#cli'

/** Returns the rules, limited to the pods that a selector matches. Throws a `UsageError`. */
export function textForPods(text: string, selector: string | undefined): string {
  if (selector === undefined) return text
  const labels = equalityLabels(selector)
  if (labels === undefined) {
    throw invalidOption(
      '--selector',
      `${quoted(selector)} has conditions other than equality, which rules do not support`,
      'write match: { podLabels: { app: shop } }, with any and not, into the rules, and remove --selector',
    )
  }
  const targeted = targetText(text, labels)
  if (targeted.ok) return targeted.text
  throw invalidCombination(targeted.wrong, targeted.fix)
}

/** The replaced rules, and the time of the change. */
interface Writing {
  readonly before: Fields | undefined
  readonly key: string
  readonly now: number
  /** The time for which the rules may act, in milliseconds. */
  readonly lastsMs: number | undefined
}

/**
 * Returns the rules with `appliedAt`, the time at which each rule was applied. Throws a
 * `UsageError`.
 */
export function textWithTimes(text: string, { before, key, now, lastsMs }: Writing): string {
  const anchored = anchorText(text, {
    now,
    before: textBefore(before, key),
    beforeAt: writtenAt(before, key),
    lasts: lastsMs,
  })
  if (anchored !== undefined) return anchored
  throw invalidFile(
    'appliedAt cannot be added to the rules as they are written',
    'write the keys of the file as a map and the rules as a list, without aliases for either',
  )
}
