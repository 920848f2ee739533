import { createHash } from 'node:crypto'
import type { RulesTarget } from './apply-rules.ts'
import { type AuditEvent, recordEvent } from './audit.ts'
import { type Bypasses, podWarnings } from './bypassed-pods.ts'
import { inParallel } from './in-parallel.ts'
import type { InjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import type { KubeError } from './kube-error.ts'
import type { Limits } from './resources.ts'
import { parseRules } from '../../rules/file/parse.ts'
import { ruleStart, windowEnd } from '../../rules/select/selection.ts'

const MAX_RULES = 10
const MAX_PODS = 50
const AT_A_TIME = 8

/** Records who applied rules and when each of them ends; returns what kept it from being recorded. */
export function recordApplied(
  client: KubeClient,
  { namespace, configMap: name, key, text, by }: RulesTarget,
  canAct: boolean,
  limits: Limits,
): Promise<KubeError | undefined> {
  const who = by ?? 'an unknown user'
  const event: AuditEvent = canAct
    ? {
        reason: 'SquallApplied',
        message: `squall apply changed the rules in ${key} by ${who}: ${endsText(text, client.now())}`,
      }
    : {
        reason: 'SquallDisarmed',
        message: `squall apply ended the rules in ${key} by ${who}: none of them can act`,
      }
  return recordEvent(client, { kind: 'ConfigMap', namespace, name }, event, limits)
}

/**
 * Records the warnings of pods, which nobody sees where controllers create them; returns what kept one
 * from being recorded.
 */
export async function recordWarnings(
  client: KubeClient,
  pods: readonly InjectedPod[],
  bypasses: Bypasses,
  limits: Limits,
): Promise<KubeError | undefined> {
  const warned = pods.flatMap((pod) => {
    const warnings = podWarnings(pod, bypasses)
    return warnings.length === 0 ? [] : [{ pod, message: warnings.join('; ') }]
  })
  const troubles = await inParallel(warned.slice(0, MAX_PODS), AT_A_TIME, ({ pod, message }) => {
    const { namespace, name, uid } = pod
    const id = createHash('sha256').update(`${uid} ${name} ${message}`).digest('hex').slice(0, 16)
    const event: AuditEvent = {
      name: `squall-${id}`,
      type: 'Warning',
      reason: 'SquallWarning',
      message,
    }
    return recordEvent(client, { kind: 'Pod', namespace, name, uid }, event, limits)
  })
  return troubles.find((trouble) => trouble !== undefined)
}

function endsText(text: string, now: number): string {
  const parsed = parseRules(text)
  const rules = parsed.ok ? parsed.file.rules : []
  const named = rules.slice(0, MAX_RULES).map((rule) => {
    const end = windowEnd(rule, ruleStart(rule.appliedAt, now))
    const when = end === Infinity ? 'has no end' : `ends ${new Date(end).toISOString()}`
    return `${rule.name} ${when}`
  })
  const more = rules.length > MAX_RULES ? [`and ${rules.length - MAX_RULES} more`] : []
  return [...named, ...more].join(', ')
}
