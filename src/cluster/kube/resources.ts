import { type Fields, fieldsOf, listOf, textOf, textsOf } from '../../base/values.ts'
import type { KubeClient, KubeRequest, PatchType } from './kube-client.ts'
import { isKubeError } from './kube-error.ts'

export interface ResourceKind {
  readonly plural: string
  readonly group: string
  readonly namespaced: boolean
}

export const CONFIG_MAPS = resourceKind('configmaps')
export const SECRETS = resourceKind('secrets')
export const PODS = resourceKind('pods')
export const SERVICES = resourceKind('services')
export const EVENTS = resourceKind('events')
export const NAMESPACES = resourceKind('namespaces', '', false)

const ADMISSION = 'admissionregistration.k8s.io'
export const MUTATING_WEBHOOKS = resourceKind('mutatingwebhookconfigurations', ADMISSION, false)
export const VALIDATING_WEBHOOKS = resourceKind('validatingwebhookconfigurations', ADMISSION, false)

/** Names one resource; without a name all of a namespace, without a namespace those of the cluster. */
export interface ObjectRef {
  readonly kind: ResourceKind
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

export interface Limits {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

export interface WriteLimits extends Limits {
  /** Has the API server check the change, and not store it. */
  readonly dryRun?: boolean | undefined
}

export interface Metadata {
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly isTerminating: boolean
}

const PAGE = '500'
const MAX_PAGES = 200

export function getResource(
  client: KubeClient,
  ref: ObjectRef,
  limits: Limits = {},
): Promise<Fields> {
  return send(client, 'read', ref, { method: 'GET' }, limits)
}

/** Reads one resource; undefined where it does not exist. */
export async function findResource(
  client: KubeClient,
  ref: ObjectRef,
  limits: Limits,
): Promise<Fields | undefined> {
  return getResource(client, ref, limits).catch((error: unknown) => {
    if (isKubeError(error, 'not_found')) return undefined
    throw error
  })
}

export function createResource(
  client: KubeClient,
  ref: ObjectRef,
  body: Fields,
  limits: WriteLimits = {},
): Promise<Fields> {
  const path = pathOf({ ...ref, name: undefined })
  return send(client, 'create', ref, { method: 'POST', path, body }, limits)
}

/** Replaces one resource; with a `resourceVersion` in it only when nobody changed it since. */
export function replaceResource(
  client: KubeClient,
  ref: ObjectRef,
  body: Fields,
  limits: Limits = {},
): Promise<Fields> {
  return send(client, 'update', ref, { method: 'PUT', body }, limits)
}

export function patchResource(
  client: KubeClient,
  ref: ObjectRef,
  patch: PatchType,
  body: Fields,
  limits: WriteLimits = {},
): Promise<Fields> {
  return send(client, 'patch', ref, { method: 'PATCH', body, patch }, limits)
}

async function send(
  client: KubeClient,
  verb: string,
  ref: ObjectRef,
  request: Pick<KubeRequest, 'method' | 'body' | 'patch'> & { readonly path?: string },
  { dryRun, ...limits }: WriteLimits,
): Promise<Fields> {
  const query = { dryRun: dryRun === true ? 'All' : undefined }
  const what = describe(verb, ref)
  return fieldsOf(await client.request({ path: pathOf(ref), query, what, ...request, ...limits }))
}

/** Reads all resources of a kind, page by page. */
export async function listResources(
  client: KubeClient,
  ref: ObjectRef,
  selector?: string,
  limits: Limits = {},
): Promise<readonly Fields[]> {
  const what = describe('list', ref)
  const items: Fields[] = []
  let next: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { limit: PAGE, continue: next, labelSelector: selector }
    const response = fieldsOf(
      await client.request({ method: 'GET', path: pathOf(ref), query, what, ...limits }),
    )
    items.push(...listOf(response['items']))
    next = textOf(fieldsOf(response['metadata'])['continue'])
    if (next === undefined) break
  }
  return items
}

export function metadataOf(thing: Fields): Metadata {
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

function describe(verb: string, { kind, namespace, name }: ObjectRef): string {
  const what = `${verb} ${kind.plural}${name === undefined ? '' : ` "${name}"`}`
  if (!kind.namespaced) return what
  return `${what} ${namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`}`
}

/** Encodes a name; a name of dots must not lead to another resource. */
function encoded(name: string): string {
  return name === '.' || name === '..' ? encodeURIComponent(`${name}/`) : encodeURIComponent(name)
}

function resourceKind(plural: string, group = '', namespaced = true): ResourceKind {
  return { plural, group, namespaced }
}
