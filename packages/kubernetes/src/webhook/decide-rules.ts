import { type Fields, instantText, textsOf } from '#base'
import { namespaceProduction } from '../injector/gatekeeper.ts'
import { isAhead, isRulesFileName, productionText } from '#rules'
import { RULES_LABEL, SEPARATE_KEYS } from '../kube/rules-label.ts'
import { sawBudget } from '../kube/budget.ts'
import { BACKUP_KEY, restoredText } from '../kube/claimed-rules.ts'
import { configMapKeys, serverTime, stopProblem } from '../kube/config-map-rules.ts'
import { metadataOf } from '../kube/resources.ts'
import { keepsStops } from '../kube/stop-sidecars.ts'
import { type CheckedKeys, checkKeys, tooSlow } from './check-rules.ts'
import { accepted, type DecideParts, denied, guarded, notChecked, notMeant } from './decide-pod.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'
import type { ActingRule } from './rules-policy.ts'

const FORGED = `${BACKUP_KEY} has rules that this ConfigMap did not have; experiments write this key, so remove it`

/** Decides about a labelled ConfigMap: checks its rules as `squall validate` and `apply` do. */
export function decideRules(review: Review, parts: DecideParts): Promise<Decision> {
  return guarded('these rules', async () => {
    const found = labelledRules(review, parts)
    if ('result' in found) return found
    const { object, label } = found
    const { oldObject } = review
    const same = oldObject && label === labelOf(oldObject, parts) ? oldObject : undefined
    // A changed label counts as new rules.
    const changed = changedRules(object, same)
    const keeps = keepsStops(object, oldObject)
    if (isForged(object, same)) return denied('invalid_rules', FORGED)
    const isSeparate = label === SEPARATE_KEYS
    const removes = same && keeps && !isSeparate && changedRules(same, object).length > 0
    const isOld = same && keeps && changed.length === 0
    const keys = configMapKeys(object)
    const isKept = isOld && same['immutable'] === true
    const problem = isKept ? undefined : stopProblem(object, keys, oldObject)
    // A stop has to be accepted whatever the rules are, and so has the end of all rules.
    if (isOld && !removes && problem === undefined) return notChecked('unchanged')
    if (changedRules(object, undefined).length === 0) return accepted('valid')
    const checked = await parts.inTurn((signal) => checkKeys(keys, isSeparate, signal))
    const { canAct, appliedAt, lines } = checked
    if (canAct && problem !== undefined) return denied('unstoppable', problem)
    const wasDisarmed = removes && canAct && (await endsDisarm(same, parts))
    if (isOld && !wasDisarmed) return notChecked('unchanged')
    if (lines.length > 0) return denied('invalid_rules', lines[0] ?? '', lines.slice(1))
    if (!canAct) return accepted('valid')
    if (isAhead(appliedAt, serverTime(object))) {
      const at = `appliedAt ${instantText(appliedAt)} is ahead of the clock of the API server`
      return denied('applied_ahead', `${at}; remove appliedAt, and write from: for a later start`)
    }
    const isNew = !changed.every((rules) => isRestored(rules, object, oldObject))
    if (keeps && !wasDisarmed && !isNew) return inProduction(review, parts)
    // Rules that were there before are not new, unless what kept them from acting ends.
    const before = keeps && !wasDisarmed ? same : undefined
    const rules = await addedRules(checked, before, parts)
    if (rules.length === 0) return inProduction(review, parts)
    const wasSeen = sawBudget(object, parts.settings.prefix)
    const denial = await parts.budget?.(review.namespace, wasSeen)
    if (denial !== undefined) return denied('budget', denial)
    const [first, ...rest] = await outsidePolicy(review, rules, parts)
    return first === undefined ? inProduction(review, parts) : denied('policy', first, rest)
  })
}

/** Returns the labelled ConfigMap of a review, or the decision about any other review. */
export function labelledRules(
  review: Review,
  parts: DecideParts,
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
export function labelOf(configMap: Fields, { settings }: DecideParts): string | undefined {
  const value = metadataOf(configMap).labels[`${settings.prefix}${RULES_LABEL}`]
  return value === 'false' ? undefined : value
}

/** The key of a rules file, and its text. */
type Rules = readonly [key: string, text: string]

/** Returns the rules files that were not there before. */
export function changedRules(object: Fields, oldObject: Fields | undefined): readonly Rules[] {
  const before = configMapKeys(oldObject ?? {})
  return [...configMapKeys(object)].flatMap(([key, bytes]) => {
    const old = before.get(key)
    if (!isRulesFileName(key) || (old && Buffer.compare(old, bytes) === 0)) return []
    return [[key, Buffer.from(bytes).toString('utf8')]]
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

/** Returns true where an `enabled: false` of a file disarmed all files, which could act alone. */
function endsDisarm(before: Fields, { inTurn }: DecideParts): Promise<boolean> {
  const keys = configMapKeys(before)
  return inTurn(async (signal) => {
    const whole = await checkKeys(keys, false, signal)
    if (whole.canAct || whole.lines.length > 0) return false
    return (await checkKeys(keys, true, signal)).canAct
  })
}

/** Returns the rules that can act and were not there before. */
async function addedRules(
  { acting }: CheckedKeys,
  before: Fields | undefined,
  { inTurn }: DecideParts,
): Promise<readonly ActingRule[]> {
  if (before === undefined) return acting
  // Each key by itself: whether the old rules fit together does not matter.
  const old = await inTurn((signal) => checkKeys(configMapKeys(before), true, signal))
  const known = new Set(old.acting.map((rule) => JSON.stringify(rule)))
  return acting.filter((rule) => !known.has(JSON.stringify(rule)))
}

/** Returns why the policy does not allow new rules. */
async function outsidePolicy(
  { object = {}, namespace: name }: Review,
  rules: readonly ActingRule[],
  { policy, inTurn, settings, podEnvironment }: DecideParts,
): Promise<readonly string[]> {
  if (policy === undefined) return []
  const namespace = await podEnvironment.namespace(name)
  return inTurn(async (signal) => {
    const lines = await policy({ rules, namespace, settings, now: serverTime(object), signal })
    if (signal.aborted) throw tooSlow()
    return lines
  })
}

/** Rejects rules that could act in production, unless the owner of the namespace allows it. */
async function inProduction(
  review: Review,
  { settings, podEnvironment }: DecideParts,
): Promise<Decision> {
  const namespace = await podEnvironment.namespace(review.namespace)
  const found = namespaceProduction({ namespace, settings, owner: '' })
  const key = `${settings.prefix}allow-production`
  if (found === undefined || namespace.annotations[key] === 'true') return accepted('valid')
  const why = productionText(found)
  if (settings.productionAction !== 'refuse') {
    return accepted('valid', [
      `${why}: sidecars read these rules, but no rule acts unless the owner of the namespace allows faults`,
    ])
  }
  return denied(
    'production',
    `rules that can act are denied in production: ${why}; write enabled: false, or ask the owner of the namespace to annotate it ${key}: "true"${namespace.isKnown === false ? ', where the webhook may read namespaces' : ''}`,
  )
}
