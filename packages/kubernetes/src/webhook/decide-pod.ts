import type { Injection, InjectionContext } from '../injector/injection.ts'
import type { InjectorSettings } from '../injector/settings-schema.ts'
import { injectPod } from '../injector/inject-pod.ts'
import { jsonPatch } from '../injector/json-patch.ts'
import { parsePod, type Pod } from '../injector/pod.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'
import type { RulesPolicy } from './rules-policy.ts'

/** Reads facts about namespaces and Services beyond the review. */
export interface PodEnvironment {
  /** Returns labels and annotations; none without the right to read them. */
  readonly namespace: (name: string) => Promise<InjectionContext['namespace']>
  /** Returns undefined without the right to read them. */
  readonly services: (namespace: string) => Promise<InjectionContext['services']>
}

/** Knows only the facts in the review. */
export const NO_POD_ENVIRONMENT: PodEnvironment = {
  namespace: (name) => Promise.resolve({ name, labels: {}, annotations: {}, isKnown: false }),
  services: () => Promise.resolve(undefined),
}

export interface DecideParts {
  readonly settings: InjectorSettings
  readonly podEnvironment: PodEnvironment
  /** Kubernetes 1.`minor`, when it is known. */
  readonly minor: () => number | undefined
  /** Returns why no new chaos may begin; undefined where no budget is read. */
  readonly budget?:
    ((namespace: string, wasSeen: boolean) => Promise<string | undefined>) | undefined
  /** Returns why new pods take no temporary faults; undefined where no budget is read. */
  readonly temporaryFaults?: ((namespace: string) => Promise<string | undefined>) | undefined
  /** Undefined without a policy. */
  readonly policy?: RulesPolicy | undefined
  /** Runs a check of rules after those before it. */
  readonly inTurn: <T>(run: (signal: AbortSignal) => Promise<T>) => Promise<T>
}

/** Reports an internal failure: the reason for metrics, and the message for the user. */
export class DecideError extends Error {
  override readonly name = 'DecideError'
  readonly code = 'SQUALL_DECIDE'
  readonly reason: string

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

/**
 * Decides about the review of a pod. After a failure, pods that do not request the sidecar pass
 * with a warning; only pods that request it are denied.
 */
export async function decide(review: Review, parts: DecideParts): Promise<Decision> {
  if (!review.isPodCreation) {
    const message = `${review.about} is not handled by this webhook; limit its rules to CREATE of pods`
    return notChecked('not_a_pod_creation', [message])
  }
  if (review.object === undefined) {
    return denied('no_object', 'the review contains no pod; this is an error of the API server')
  }
  try {
    return await guarded('this pod', () => injected(review, parts))
  } catch (error) {
    if (asksForInjection(review, parts.settings.prefix)) throw error
    const { reason, message } = error as DecideError
    return { ...notChecked(reason, [`not injected: ${message}`]), result: 'failed' }
  }
}

async function injected(review: Review, parts: DecideParts): Promise<Decision> {
  const asks = asksForInjection(review, parts.settings.prefix)
  const parsed = parsePod(review.object)
  if (!parsed.ok) {
    if (asks) return denied('invalid_pod', parsed.message)
    return notChecked('invalid_pod', [`not injected: ${parsed.message}`])
  }
  const outcome = await injectionOf(parsed.pod, review.owner, review.namespace, parts, asks)
  switch (outcome.kind) {
    case 'injected':
      return {
        result: 'injected',
        allowed: true,
        reason: outcome.mode,
        message: outcome.why,
        patch: jsonPatch(review.object, outcome.pod),
        warnings: outcome.warnings,
      }
    case 'untouched':
      // The user requested the sidecar, so the reason is reported.
      return notChecked(outcome.reason, asks ? [`not injected: ${outcome.message}`] : [])
    case 'denied':
    default:
      return denied(outcome.reason, outcome.message)
  }
}

/** Injects a pod; the namespace only adds defaults for pods that request the sidecar. */
export async function injectionOf(
  pod: Pod,
  owner: string,
  namespace: string,
  { settings, podEnvironment, minor, temporaryFaults }: DecideParts,
  asks: boolean,
): Promise<Injection> {
  const facts = asks ? podEnvironment : NO_POD_ENVIRONMENT
  const [temporaryDenial, ...read] = await Promise.all([
    asks ? temporaryFaults?.(namespace) : undefined,
    facts.namespace(namespace),
    facts.services(namespace),
  ])
  return injectPod(pod, {
    namespace: read[0],
    services: read[1],
    temporaryDenial,
    minor: minor(),
    settings,
    owner,
  })
}

/** Returns true when the pod requests the sidecar, by annotation or label, in any case. */
export function asksForInjection(
  { annotations, labels }: Pick<Review, 'annotations' | 'labels'>,
  prefix: string,
): boolean {
  const option = annotations[`${prefix}inject`] ?? labels[`${prefix}inject`]
  return option !== undefined && option.trim().toLowerCase() !== 'false'
}

/** Returns the decision that accepts an object. */
export function accepted(reason: string, warnings: readonly string[] = []): Decision {
  return { result: 'accepted', allowed: true, reason, message: '', patch: [], warnings }
}

/** Returns the decision that accepts an object without a check. */
export function notChecked(reason: string, warnings: readonly string[] = []): Decision {
  return { result: 'untouched', allowed: true, reason, message: '', patch: [], warnings }
}

/** Returns the decision that denies an object. */
export function denied(reason: string, message: string, lines: readonly string[] = []): Decision {
  return { result: 'denied', allowed: false, reason, message, lines, patch: [], warnings: [] }
}

/** Returns the decision about a review that the webhook configuration should not send. */
export function notMeant(review: Review, meant: string): Decision {
  const message = `${review.about} is not checked here; limit the rules to ${meant}`
  return notChecked('not_meant', [message])
}

/** Turns every error into a `DecideError`, so that `failurePolicy` decides. */
export async function guarded(what: string, check: () => Promise<Decision>): Promise<Decision> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof DecideError) throw error
    throw new DecideError('internal_error', `internal error for ${what}`, error)
  }
}
