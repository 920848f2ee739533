import { fieldsOf, oneLine, sha256Of, textOf } from '#base'
import { ruleEnd } from '#rules'
import type { RulesTarget } from './apply-rules.ts'
import { type Bypasses, podWarnings } from './bypassed-pods.ts'
import { inParallel } from './in-parallel.ts'
import type { InjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, isKubeError, type KubeError } from './kube-error.ts'
import { EVENTS, type Limits, type NamedRef } from './resources.ts'
import { rulesOf } from './targets.ts'

const ASK_MS = 3_000
/** The longest message that the API server accepts. */
const MAX_MESSAGE = 1_024
const MAX_RULES = 10
const MAX_PODS = 50

/** Returns the user's name as the API server knows it; undefined where the API server hides it. */
export async function userName(client: KubeClient, limits: Limits): Promise<string | undefined> {
  try {
    const response = await client.request({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      what: 'get the name of the user',
      mayRepeat: true,
      timeoutMs: ASK_MS,
      ...limits,
    })
    const name = textOf(fieldsOf(fieldsOf(fieldsOf(response)['status'])['userInfo'])['username'])
    return name === undefined ? undefined : oneLine(name)
  } catch (error) {
    asKubeError(error)
    return undefined
  }
}

interface EventSubject extends NamedRef {
  readonly kind: 'ConfigMap' | 'Pod'
  /** With it `kubectl describe` shows the event. */
  readonly uid?: string | undefined
}

/**
 * Records an event; returns the error where that failed. An event with a name is
 * recorded once as long as the API server keeps it.
 */
export async function recordEvent(
  client: KubeClient,
  subject: EventSubject,
  event: { reason: string; message: string; type?: 'Normal' | 'Warning'; name?: string },
  limits: Limits,
): Promise<KubeError | undefined> {
  const { namespace } = subject
  const { reason, message, type = 'Normal', name } = event
  const now = new Date().toISOString()
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { ...(name === undefined ? { generateName: 'squall-' } : { name }), namespace },
    involvedObject: { apiVersion: 'v1', ...subject },
    type,
    reason,
    message: oneLine(message, MAX_MESSAGE),
    source: { component: 'squall' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  }
  try {
    await client.create({ kind: EVENTS, namespace }, body, limits)
    return undefined
  } catch (error) {
    return isKubeError(error, 'exists') ? undefined : asKubeError(error)
  }
}

/** Records who applied rules and when each of them ends; returns the error where that failed. */
export function recordApplied(
  client: KubeClient,
  { namespace, configMap: name, key, text, by }: RulesTarget,
  canAct: boolean,
  limits: Limits,
): Promise<KubeError | undefined> {
  const [reason, verb, effect] = canAct
    ? ['SquallApplied', 'changed', endsText(text, client.now())]
    : ['SquallDisarmed', 'ended', 'none of them can act']
  const who = by ?? 'an unknown user'
  const event = { reason, message: `squall apply ${verb} the rules in ${key} by ${who}: ${effect}` }
  return recordEvent(client, { kind: 'ConfigMap', namespace, name }, event, limits)
}

/** Records who attached or detached a sidecar; returns the error where that failed. */
export function recordAttached(
  client: KubeClient,
  { namespace, name, uid }: Omit<EventSubject, 'kind'>,
  action: 'attached' | 'detached',
  byWhom: string,
  limits: Limits,
): Promise<KubeError | undefined> {
  const reason = action === 'attached' ? 'SquallAttached' : 'SquallDetached'
  const event = { reason, message: `a sidecar was ${action} by ${byWhom}` }
  return recordEvent(client, { kind: 'Pod', namespace, name, uid }, event, limits)
}

/** Records the warnings of pods, which controllers show to nobody; returns the first error. */
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
  const troubles = await inParallel(warned.slice(0, MAX_PODS), ({ pod, message }) => {
    const { namespace, name, uid } = pod
    const id = sha256Of(`${uid} ${name} ${message}`).slice(0, 16)
    const event = {
      name: `squall-${id}`,
      type: 'Warning',
      reason: 'SquallWarning',
      message,
    } as const
    return recordEvent(client, { kind: 'Pod', namespace, name, uid }, event, limits)
  })
  return troubles.find((trouble) => trouble !== undefined)
}

function endsText(text: string, now: number): string {
  const rules = rulesOf(text)
  const named = rules.slice(0, MAX_RULES).map((rule) => {
    const end = ruleEnd(rule, now)
    const when = end === Infinity ? 'has no end' : `ends ${new Date(end).toISOString()}`
    return `${rule.name} ${when}`
  })
  const more = rules.length > MAX_RULES ? [`and ${rules.length - MAX_RULES} more`] : []
  return [...named, ...more].join(', ')
}
