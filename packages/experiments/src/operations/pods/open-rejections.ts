import { type Fields, fieldsOf } from '#base'
import { type Claim, type ClaimedKey, claimText, configMapKeys, type WatchedPod } from '#kubernetes'
import type { Rejection } from '../../experiment/rejection.ts'
import { isRulesFileName, parseRules } from '#rules'
import { BEFORE, type RulesVersions } from './rules-versions.ts'

/** Describes what was found before the first change. */
export interface Found {
  readonly target: ClaimedKey
  readonly configMap: Fields | undefined
  readonly versions: RulesVersions
  readonly pods: readonly WatchedPod[]
}

/** Returns the rejection of a ConfigMap that another experiment has claimed. */
export function runningRejection(claim: Claim): Rejection {
  return {
    code: 'EXPERIMENT_RUNNING',
    wrong: claimText(claim),
    fix: 'wait until it has ended; squall experiment restore --force ends it',
  }
}

/** Returns the reasons why the rules of the ConfigMap may not be replaced. */
export function openRejections(found: Found): readonly Rejection[] {
  return [...keyRejections(found), ...otherKeys(found), ...lateRejections(found)]
}

function keyRejections({ target, configMap }: Found): readonly Rejection[] {
  const { key, configMap: name } = target
  const wrong =
    configMap?.['immutable'] === true
      ? `the ConfigMap ${name} is immutable`
      : fieldsOf(configMap?.['binaryData'])[key] === undefined
        ? undefined
        : `${key} of the ConfigMap ${name} is in binaryData`
  if (wrong === undefined) return []
  return [{ code: 'RULES_NOT_ACTIVE', wrong, fix: 'name a ConfigMap with rules as text' }]
}

/** Rejects rules of other keys, which stay active during the experiment. */
function otherKeys({ target, configMap, pods }: Found): readonly Rejection[] {
  if (pods.every(({ pod: { rules } }) => rules?.key !== undefined)) return []
  const others = [...configMapKeys(configMap ?? {})].filter(
    ([key, bytes]) => key !== target.key && isRulesFileName(key) && hasRules(bytes),
  )
  if (others.length === 0) return []
  const names = others.map(([key]) => key).join(', ')
  return [
    {
      code: 'OTHER_RULES',
      wrong: `the ConfigMap ${target.configMap} has further rules in ${names}`,
      fix: 'remove them; sidecar.replaceRules suspends only the rules of sidecar.kubernetes.key',
    },
  ]
}

function hasRules(bytes: Uint8Array): boolean {
  const parsed = parseRules(Buffer.from(bytes).toString('utf8'))
  return !parsed.ok || parsed.file.rules.length > 0
}

function lateRejections({ versions, pods, target }: Found): readonly Rejection[] {
  const late = pods.find(({ pod, state, isTerminating }) => {
    if (state === undefined || isTerminating) return false
    return versions.translated(state, pod).rules.digest !== BEFORE
  })
  if (late === undefined) return []
  return [
    {
      code: 'RULES_NOT_ACTIVE',
      wrong: `pod ${late.pod.name} has other rules than the ConfigMap ${target.configMap}`,
      fix: 'wait until it has read them; squall status compares them',
    },
  ]
}
