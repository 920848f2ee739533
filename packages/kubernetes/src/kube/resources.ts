import { type Fields, fieldsOf, listOf, textOf, textsOf } from '#base'

export const CONFIG_MAPS = resourceKind('configmaps')
export const SECRETS = resourceKind('secrets')
export const PODS = resourceKind('pods')
export const SERVICES = resourceKind('services')
export const EVENTS = resourceKind('events')
export const SERVICE_ACCOUNTS = resourceKind('serviceaccounts')
export const DEPLOYMENTS = resourceKind('deployments', 'apps')
export const JOBS = resourceKind('jobs', 'batch')
export const NODES = resourceKind('nodes', '', false)
export const NAMESPACES = resourceKind('namespaces', '', false)

const ADMISSION = 'admissionregistration.k8s.io'
export const MUTATING_WEBHOOKS = resourceKind('mutatingwebhookconfigurations', ADMISSION, false)
export const VALIDATING_WEBHOOKS = resourceKind('validatingwebhookconfigurations', ADMISSION, false)

/** Names one resource; without a name all of a namespace, without both all of the cluster. */
export interface ObjectRef {
  readonly kind: ReturnType<typeof resourceKind>
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** Names one object of a namespace. */
export interface NamedRef {
  readonly namespace: string
  readonly name: string
}

export interface Limits {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

export interface WriteLimits extends Limits {
  /** Has the API server check the change, and not store it. */
  readonly dryRun?: boolean | undefined
}

export function metadataOf(thing: Fields) {
  const metadata = fieldsOf(thing['metadata'])
  return {
    name: textOf(metadata['name']) ?? '',
    namespace: textOf(metadata['namespace']),
    uid: textOf(metadata['uid']),
    resourceVersion: textOf(metadata['resourceVersion']),
    labels: textsOf(metadata['labels']),
    annotations: textsOf(metadata['annotations']),
    isTerminating: metadata['deletionTimestamp'] !== undefined,
  }
}

/** Returns the path of a resource below the API server. */
export function pathOf({
  kind: { group, plural, namespaced },
  namespace,
  name,
}: ObjectRef): string {
  const root = group === '' ? '/api/v1' : `/apis/${group}/v1`
  const within = namespaced && namespace !== undefined ? `/namespaces/${encoded(namespace)}` : ''
  return `${root}${within}/${plural}${name === undefined ? '' : `/${encoded(name)}`}`
}

/** Describes an operation in messages: `read configmaps "rules" in namespace "shop"`. */
export function describe(verb: string, { kind, namespace, name }: ObjectRef): string {
  const what = `${verb} ${kind.plural}${name === undefined ? '' : ` "${name}"`}`
  if (!kind.namespaced) return what
  return `${what} ${namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`}`
}

/** Encodes a name; a name of dots must not lead to another resource. */
function encoded(name: string): string {
  return name === '.' || name === '..' ? encodeURIComponent(`${name}/`) : encodeURIComponent(name)
}

function resourceKind(plural: string, group = '', namespaced = true) {
  return { plural, group, namespaced }
}

/** Returns whether a pod or node is ready. */
export function reportsReady(thing: Fields | undefined): boolean {
  return listOf(fieldsOf(thing?.['status'])['conditions']).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  )
}
