import { type Fields, fieldsOf } from '#base'
import {
  type Claim,
  type ClaimedKey,
  claimText,
  configMapKeys,
  type WatchedPod,
  type WatchedPods,
} from '#kubernetes'
import type { Rejection } from '../../experiment/rejection.ts'
import { isRulesFileName, parseRules } from '#rules'
import { BEFORE, type RulesVersions } from './rules-versions.ts'

/** What stays the same during an experiment, as it was read before the first change. */
export interface Begin {
  readonly target: ClaimedKey
  /** The labels of the pods that take part: no other pod is armed. */
  readonly labels: Readonly<Record<string, string>>
  readonly watched: WatchedPods
  readonly configMap: Fields | undefined
  readonly versions: RulesVersions
}

type Pods = readonly WatchedPod[]

/** Returns the rejection of a ConfigMap that another experiment has claimed. */
export function runningRejection(claim: Claim): Rejection {
  return {
    code: 'EXPERIMENT_RUNNING',
    wrong: claimText(claim),
    fix: 'wait until it has finished; squall experiment restore --force ends it',
  }
}

/** Returns the reasons why the rules of the ConfigMap may not be replaced. */
export function openRejections(begin: Begin, pods: Pods): readonly Rejection[] {
  const found = [keyRejection(begin), otherKeys(begin, pods), lateRejection(begin, pods)]
  return found.filter((each) => each !== undefined)
}

function keyRejection({ target, configMap }: Begin): Rejection | undefined {
  const { key, configMap: name } = target
  const isImmutable = configMap?.['immutable'] === true
  if (!isImmutable && fieldsOf(configMap?.['binaryData'])[key] === undefined) return undefined
  const wrong = isImmutable
    ? `the ConfigMap ${name} is immutable`
    : `${key} of the ConfigMap ${name} is in binaryData`
  return { code: 'RULES_NOT_ACTIVE', wrong, fix: 'use a ConfigMap that stores the rules in data' }
}

/** Rejects rules of other keys, which stay active during the experiment. */
function otherKeys({ target, configMap }: Begin, pods: Pods): Rejection | undefined {
  if (pods.every(({ pod: { rules } }) => rules?.key !== undefined)) return undefined
  const others = [...configMapKeys(configMap ?? {})].filter(
    ([key, bytes]) => key !== target.key && isRulesFileName(key) && hasRules(bytes),
  )
  if (others.length === 0) return undefined
  const names = others.map(([key]) => key).join(', ')
  return {
    code: 'OTHER_RULES',
    wrong: `the ConfigMap ${target.configMap} contains additional rules in ${names}`,
    fix: 'remove them; sidecar.replaceRules suspends only the rules of sidecar.kubernetes.key',
  }
}

function hasRules(bytes: Uint8Array): boolean {
  const parsed = parseRules(Buffer.from(bytes).toString('utf8'))
  return !parsed.ok || parsed.file.rules.length > 0
}

function lateRejection({ versions, target }: Begin, pods: Pods): Rejection | undefined {
  const late = pods.find(({ pod, state, isTerminating }) => {
    if (state === undefined || isTerminating) return false
    return versions.translated(state, pod).rules.digest !== BEFORE
  })
  if (late === undefined) return undefined
  return {
    code: 'RULES_NOT_ACTIVE',
    wrong: `pod ${late.pod.name} runs different rules from the ConfigMap ${target.configMap}`,
    fix: 'wait until it has read them; squall status compares them',
  }
}
