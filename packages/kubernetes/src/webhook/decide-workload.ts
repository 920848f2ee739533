import { type Fields, fieldsOf, sameJson } from '#base'
import { parsePod } from '../injector/pod.ts'
import { metadataOf } from '../kube/resources.ts'
import { WORKLOADS } from '../manifests/pod-templates.ts'
import {
  accepted,
  asksForInjection,
  type DecideParts,
  denied,
  guarded,
  injectionOf,
  notChecked,
  notMeant,
} from './decide-pod.ts'
import type { Decision } from './decision.ts'
import type { Review } from './review.ts'

/** Decides about a workload: denies it where its pods would be denied, with the same message. */
export function decideWorkload(review: Review, parts: DecideParts): Promise<Decision> {
  return guarded('this workload', async () => {
    const { object, oldObject, resource, operation } = review
    const found = [...WORKLOADS].find(([, [, checked]]) => checked === resource)
    if (found === undefined || !['CREATE', 'UPDATE'].includes(operation)) {
      return notMeant(review, 'CREATE and UPDATE of workloads')
    }
    if (object === undefined) return denied('no_object', 'the review contains no workload')
    const [name, [path, , owner = name]] = found
    const template = templateOf(object, path)
    if (!isMarked(template, parts.settings.prefix)) return notChecked('not_requested')
    // Controllers and the garbage collector have to finish the deletion.
    if (metadataOf(object).isTerminating) return notChecked('leaving')
    if (review.owner !== 'Pod') return notChecked('controlled')
    if (oldObject !== undefined && sameJson(template, templateOf(oldObject, path))) {
      return notChecked('unchanged')
    }
    const who = `${name} "${review.podName}"`
    return judged(template, who, owner, review.namespace, parts)
  })
}

async function judged(
  template: Fields,
  who: string,
  owner: string,
  namespace: string,
  parts: DecideParts,
): Promise<Decision> {
  const parsed = parsePod({ metadata: template['metadata'], spec: template['spec'] })
  if (!parsed.ok)
    return denied('invalid_pod', `the pods of ${who} would be denied: ${parsed.message}`)
  const isAsked = asksForInjection(metadataOf(template), parts.settings.prefix)
  const outcome = await injectionOf(parsed.pod, owner, namespace, parts, isAsked)
  switch (outcome.kind) {
    case 'denied':
      return denied(outcome.reason, `the pods of ${who} would be denied: ${outcome.message}`)
    case 'untouched': {
      const isMeant = !['not_requested', 'opted_out'].includes(outcome.reason)
      return accepted('valid', isMeant ? [`no sidecar for the pods: ${outcome.message}`] : [])
    }
    case 'injected':
    default:
      return accepted('valid', outcome.warnings)
  }
}

function templateOf(object: Fields, path: readonly string[]): Fields {
  return path.reduce((at, key) => fieldsOf(at[key]), object)
}

/** Returns true when a template has any of Squall's keys. */
function isMarked(template: Fields, prefix: string): boolean {
  const { annotations, labels } = metadataOf(template)
  return Object.keys({ ...annotations, ...labels }).some((key) => key.startsWith(prefix))
}
