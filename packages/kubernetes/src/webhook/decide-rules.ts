import { type Fields, instantText, textsOf } from '#base'
import { namespaceProduction } from '../injector/gatekeeper.ts'
import { isAhead, isRulesFileName, productionText, RULES_LABEL, SEPARATE_KEYS } from '#rules'
import { sawBudget } from '../kube/budget.ts'
import { BACKUP_KEY, restoredText } from '../kube/claimed-rules.ts'
import { configMapKeys, serverTime, stopProblem, textBefore } from '../kube/config-map-rules.ts'
import { metadataOf } from '../kube/resources.ts'
import { keepsStops } from '../kube/stop-sidecars.ts'
import { type CheckedKeys, checkKeys, type RulesChecker, tooSlow } from './check-rules.ts'
import { accepted, type DecideParts, denied, guarded, notChecked, notMeant } from './decide-pod.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'

/** The inputs of decisions about rules. */
export interface RulesParts extends DecideParts {
  readonly checker: RulesChecker
}

const FORGED = `${BACKUP_KEY} has rules that this ConfigMap did not have; experiments write this key, so remove it`

/** Decides about a labelled ConfigMap: checks its rules as `squall validate` and `apply` do. */
export function decideRules(review: Review, parts: RulesParts): Promise<Decision> {
  return guarded('these rules', async () => {
    const found = labelledRules(review, parts)
    if ('result' in found) return found
    const { object, label } = found
    const { oldObject } = review
    const same = oldObject && label === labelOf(oldObject, parts) ? oldObject : undefined
    const changed = changedRules(object, oldObject)
    const keeps = keepsStops(object, oldObject)
    if (isForged(object, same)) return denied('invalid_rules', FORGED)
    const isSeparate = label === SEPARATE_KEYS
    const wasDisarmed = same && keeps && !isSeparate && (await endsDisarm(object, same, parts))
    // A stop has to be accepted whatever the rules are.
    if (same && changed.length === 0 && keeps && !wasDisarmed) return notChecked('unchanged')
    const keys = configMapKeys(object)
    const checked = await parts.checker.inTurn((signal) => checkKeys(keys, isSeparate, signal))
    if (checked.lines.length > 0) {
      const [first = '', ...rest] = checked.lines
      return denied('invalid_rules', first, rest)
    }
    if (checked.canAct && isAhead(checked.appliedAt, serverTime(object))) {
      const at = `appliedAt ${instantText(checked.appliedAt)} is ahead of the clock of the API server`
      return denied('applied_ahead', `${at}; remove appliedAt, and write from: for a later start`)
    }
    if (!checked.canAct) return accepted('valid')
    const begins =
      !keeps || wasDisarmed || changed.some((rules) => !isRestored(rules, object, oldObject))
    const problem = begins ? stopProblem(object, keys) : undefined
    if (problem !== undefined) return denied('unstoppable', problem)
    const wasSeen = sawBudget(object, parts.settings.prefix)
    const denial = begins ? await parts.budget?.(review.namespace, wasSeen) : undefined
    if (denial !== undefined) return denied('budget', denial)
    // Rules that were there before are not new, unless what kept them from acting ends.
    const before = keeps && !wasDisarmed ? same : undefined
    const [first, ...rest] = begins ? await outsidePolicy(review, checked, before, parts) : []
    return first === undefined ? inProduction(review, parts) : denied('policy', first, rest)
  })
}

/** Returns the labelled ConfigMap of a review, or the decision about any other review. */
export function labelledRules(
  review: Review,
  parts: RulesParts,
): { readonly object: Fields; readonly label: string } | Decision {
  const { object, resource, operation } = review
  if (resource !== 'configmaps' || !['CREATE', 'UPDATE'].includes(operation)) {
    return notMeant(review, 'CREATE and UPDATE of ConfigMaps')
  }
  if (object === undefined) return denied('no_object', 'the review contains no ConfigMap')
  const label = labelOf(object, parts)
  if (label === undefined) return notChecked('not_labelled')
  return metadataOf(object).isTerminating ? notChecked('leaving') : { object, label }
}

/** Returns the value of the label that requests the check; undefined without a request. */
export function labelOf(configMap: Fields, { settings }: RulesParts): string | undefined {
  const value = metadataOf(configMap).labels[`${settings.prefix}${RULES_LABEL}`]
  return value === 'false' ? undefined : value
}

/** The key of a rules file, and its text. */
type Rules = readonly [key: string, text: string]

/** Returns the rules files that were not there before. */
export function changedRules(object: Fields, oldObject: Fields | undefined): readonly Rules[] {
  return [...configMapKeys(object)].flatMap(([key, bytes]) => {
    const text = Buffer.from(bytes).toString('utf8')
    return isRulesFileName(key) && text !== textBefore(oldObject, key) ? [[key, text]] : []
  })
}

/** Returns true for rules that an experiment restores at its end. */
export function isRestored([, text]: Rules, object: Fields, oldObject: Fields | undefined) {
  const [now, before] = [textsOf(object['data']), textsOf(oldObject?.['data'])]
  return now[BACKUP_KEY] === undefined && restoredText(before[BACKUP_KEY]) === text
}

/** Returns true for a backup of rules that were not there: restored, they would pass as old ones. */
function isForged(object: Fields, oldObject: Fields | undefined): boolean {
  const [now, before] = [textsOf(object['data']), textsOf(oldObject?.['data'])]
  const text = restoredText(now[BACKUP_KEY])
  if (now[BACKUP_KEY] === before[BACKUP_KEY] || (text ?? null) === null) return false
  // The text of any other key was never checked.
  return !changedRules(oldObject ?? {}, undefined).some(([, old]) => old === text)
}

/** Returns true where a change may end the `enabled: false` of a file, which disarms all files. */
async function endsDisarm(
  object: Fields,
  before: Fields,
  { checker }: RulesParts,
): Promise<boolean> {
  if (changedRules(before, object).length === 0) return false
  const keys = configMapKeys(before)
  return checker.inTurn(async (signal) => {
    const whole = await checkKeys(keys, false, signal)
    if (whole.canAct || whole.lines.length > 0) return false
    return (await checkKeys(keys, true, signal)).canAct
  })
}

/** Returns why the policy does not allow the rules that were not there before. */
async function outsidePolicy(
  { object = {}, namespace: name }: Review,
  { acting }: CheckedKeys,
  before: Fields | undefined,
  { policy, checker, settings, podEnvironment }: RulesParts,
): Promise<readonly string[]> {
  if (policy === undefined || acting.length === 0) return []
  const namespace = await podEnvironment.namespace(name)
  return checker.inTurn(async (signal) => {
    // Each key by itself: whether the old rules fit together does not matter.
    const old = before && (await checkKeys(configMapKeys(before), true, signal))
    const known = new Set(old?.acting.map((rule) => JSON.stringify(rule)))
    const rules = acting.filter((rule) => !known.has(JSON.stringify(rule)))
    if (rules.length === 0) return []
    const lines = await policy({ rules, namespace, settings, now: serverTime(object), signal })
    if (signal.aborted) throw tooSlow()
    return lines
  })
}

/** Rejects rules that could act in production, unless the owner of the namespace allows it. */
async function inProduction(
  review: Review,
  { settings, podEnvironment }: RulesParts,
): Promise<Decision> {
  const namespace = await podEnvironment.namespace(review.namespace)
  const found = namespaceProduction({ namespace, settings, owner: '' })
  const key = `${settings.prefix}allow-production`
  if (found === undefined || namespace.annotations[key] === 'true') return accepted('valid')
  const why = productionText(found)
  if (settings.productionAction !== 'refuse') {
    return accepted('valid', [
      `${why}: sidecars read these rules, but no rule acts unless the owner of the namespace allows it`,
    ])
  }
  return denied(
    'production',
    `rules that can act are denied in production: ${why}; write enabled: false, or ask the owner of the namespace to annotate it ${key}: "true"${namespace.isKnown === false ? ', where the webhook may read namespaces' : ''}`,
  )
}
