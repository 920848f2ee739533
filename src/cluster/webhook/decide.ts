import type { InjectionContext, ServicePorts } from '../injector/injection.ts'
import type { InjectorSettings } from '../injector/injector-settings.ts'
import { injectPod } from '../injector/inject-pod.ts'
import { jsonPatch } from '../injector/json-patch.ts'
import { parsePod } from '../injector/parse-pod.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'

/** Facts about namespaces and Services beyond the review itself. */
export interface Surroundings {
  /** Labels and annotations; nothing where there is no right to read them. */
  namespace(name: string): Promise<InjectionContext['namespace']>
  /** Undefined where there is no right to read them. */
  services(namespace: string): Promise<readonly ServicePorts[] | undefined>
}

/** Nothing is known but what stands in the review itself. */
export const NO_SURROUNDINGS: Surroundings = {
  namespace: (name) => Promise.resolve({ name, labels: {}, annotations: {}, isKnown: false }),
  services: () => Promise.resolve(undefined),
}

/** The inputs of decisions. */
export interface DecideParts {
  readonly settings: InjectorSettings
  readonly surroundings: Surroundings
  /** Kubernetes 1.`minor`, when it is known. */
  readonly minor: () => number | undefined
}

/** Something inside failed: the reason for the metric, and the text for whoever made the pod. */
export class DecideError extends Error {
  override readonly name = 'DecideError'
  readonly code = 'SQUALL_DECIDE'
  readonly reason: string

  constructor(reason: string, message: string, cause: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

/**
 * Decides about one review. Pods that ask for nothing are never held up: where something fails, they
 * pass with a warning, and only those that ask for the sidecar are refused.
 */
export async function decide(review: Review, parts: DecideParts): Promise<Decision> {
  if (!review.isPodCreation) {
    const message = `${review.about} is none of this webhook's business; limit its rules to CREATE of pods`
    return untouched('not_a_pod_creation', [message])
  }
  if (review.object === undefined) {
    return denial('no_object', 'the review holds no pod; this is a fault of the API server')
  }
  try {
    return await injected(review, parts)
  } catch (error) {
    const reason = error instanceof DecideError ? error.reason : 'internal_error'
    const why = error instanceof DecideError ? error.message : 'squall failed on this pod'
    if (asksForInjection(review, parts.settings.prefix)) {
      throw error instanceof DecideError ? error : new DecideError(reason, why, error)
    }
    return { ...untouched(reason, [`not injected: ${why}`]), result: 'failed' }
  }
}

async function injected(review: Review, parts: DecideParts): Promise<Decision> {
  const { settings, surroundings } = parts
  const minor = parts.minor()
  const asks = asksForInjection(review, settings.prefix)
  const parsed = parsePod(review.object)
  if (!parsed.ok) {
    if (asks) return denial('bad_pod', parsed.message)
    return untouched('bad_pod', [`not injected: ${parsed.message}`])
  }
  // A namespace only adds to what its pods ask for.
  const known = asks ? surroundings : NO_SURROUNDINGS
  const namespace = await known.namespace(review.namespace)
  const services = await known.services(review.namespace)
  const outcome = injectPod(parsed.pod, {
    namespace,
    services,
    cluster: minor === undefined ? undefined : { minor },
    settings,
    owner: review.owner,
  })
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
      // The user asked for the sidecar, so the reason is reported.
      return untouched(outcome.reason, asks ? [`not injected: ${outcome.message}`] : [])
    case 'refused':
    default:
      return denial(outcome.reason, outcome.message)
  }
}

/** Returns true when the pod itself asks, by annotation or label, in upper or lower case. */
function asksForInjection({ annotations, labels }: Review, prefix: string): boolean {
  const option = annotations[`${prefix}inject`] ?? labels[`${prefix}inject`]
  return option !== undefined && option.trim().toLowerCase() !== 'false'
}

function untouched(reason: string, warnings: readonly string[]): Decision {
  return { result: 'untouched', allowed: true, reason, message: '', patch: [], warnings }
}

function denial(reason: string, message: string): Decision {
  return { result: 'refused', allowed: false, reason, message, patch: [], warnings: [] }
}
