import { fieldsOf, textsOf } from '#base'
import { configMapKeys, serverTime, textBefore, writtenAt } from '../kube/config-map-rules.ts'
import { jsonPatch } from '../injector/json-patch.ts'
import { anchorWherever } from '#rules'
import { SEPARATE_KEYS } from '../kube/rules-label.ts'
import { checkKeys, tooSlow } from './check-rules.ts'
import { changedRules, isRestored, labelledRules, labelOf } from './decide-rules.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'
import { accepted, type DecideParts, guarded, notChecked } from './decide-pod.ts'

/**
 * Decides about a labelled ConfigMap before its check: adds `appliedAt` to rules without it.
 * Invalid rules are left to the check.
 */
export function decideAnchor(review: Review, parts: DecideParts): Promise<Decision> {
  return guarded('the start time of these rules', async () => {
    const found = labelledRules(review, parts)
    if ('result' in found) return found
    const { object, label } = found
    const { oldObject } = review
    // Nobody can change its data.
    if (oldObject?.['immutable'] === true) return notChecked('immutable')
    const own = textsOf(object['data'])
    // Unchanged rules were checked already, unless nobody asked for it: a stop leaves them as they are.
    const checked = oldObject && labelOf(oldObject, parts) === label ? oldObject : undefined
    const data = changedRules(object, checked).filter(
      (rules) => rules[0] in own && !isRestored(rules, object, oldObject),
    )
    if (data.length === 0) return notChecked('no_rules')
    const now = serverTime(object)
    const texts = data.map(([key, text]) => ({
      text,
      applying: { now, before: textBefore(oldObject, key), beforeAt: writtenAt(oldObject, key) },
    }))
    const keys = configMapKeys(object)
    return parts.inTurn(async (signal) => {
      const { lines } = await checkKeys(keys, label === SEPARATE_KEYS, signal)
      if (lines.length > 0) return notChecked('invalid_rules')
      const anchored = await anchorWherever(texts, signal)
      if (anchored === undefined) throw tooSlow()
      return written(
        fieldsOf(object['data']),
        data.map(([key], i) => [key, anchored[i]]),
      )
    })
  })
}

function written(
  before: object,
  anchored: readonly (readonly [key: string, text: string | undefined])[],
): Decision {
  const texts = anchored.filter((each): each is [string, string] => each[1] !== undefined)
  const data = { ...before, ...Object.fromEntries(texts) }
  const patch = jsonPatch({ data: before }, { data })
  const warnings = anchored
    .filter(([, text]) => text === undefined)
    .map(
      ([key]) =>
        `${key}: appliedAt cannot be added; write the keys of the file as a map and the rules as a list, without aliases for either`,
    )
  return patch.length === 0
    ? notChecked('unchanged', warnings)
    : { ...accepted('anchored', warnings), patch }
}
