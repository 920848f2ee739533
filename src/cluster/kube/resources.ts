import { type Fields, fieldsOf, listOf, textOf, textsOf } from '../../base/values.ts'
import type { KubeClient, PatchType } from './kube-client.ts'

/** A kind of thing that the API server keeps. */
export interface ResourceKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespaced: boolean
}

export const CONFIG_MAPS: ResourceKind = kind('', 'configmaps')
export const SECRETS: ResourceKind = kind('', 'secrets')
export const PODS: ResourceKind = kind('', 'pods')
export const SERVICES: ResourceKind = kind('', 'services')
export const EVENTS: ResourceKind = kind('', 'events')
export const NAMESPACES: ResourceKind = { ...kind('', 'namespaces'), namespaced: false }
export const MUTATING_WEBHOOKS: ResourceKind = {
  ...kind('admissionregistration.k8s.io', 'mutatingwebhookconfigurations'),
  namespaced: false,
}

export const VALIDATING_WEBHOOKS: ResourceKind = {
  ...kind('admissionregistration.k8s.io', 'validatingwebhookconfigurations'),
  namespaced: false,
}

/** One thing, or all of a namespace where there is no name, or of the cluster without a namespace. */
export interface ObjectRef {
  readonly kind: ResourceKind
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** Bounds the time of a request. */
export interface Limits {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

/** Configures a write. */
export interface WriteLimits extends Limits {
  /** Has the API server check the change, and not store it. */
  readonly dryRun?: boolean | undefined
}

/** The metadata that is kept of each resource. */
export interface Metadata {
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly isLeaving: boolean
}

const PAGE = '500'
/** A cluster with more pods in one list is asked for less at a time. */
const MAX_PAGES = 200

/** Reads one thing. */
export async function getResource(
  client: KubeClient,
  ref: ObjectRef,
  limits: Limits = {},
): Promise<Fields> {
  const what = describe('read', ref)
  return fieldsOf(await client.request({ method: 'GET', path: pathOf(ref), what, ...limits }))
}

/** Creates one thing. */
export async function createResource(
  client: KubeClient,
  ref: ObjectRef,
  body: Fields,
  { dryRun, ...limits }: WriteLimits = {},
): Promise<Fields> {
  const path = pathOf({ ...ref, name: undefined })
  const what = describe('create', ref)
  const query = dryRunQuery(dryRun)
  return fieldsOf(await client.request({ method: 'POST', path, query, body, what, ...limits }))
}

/** Replaces one thing; with a `resourceVersion` in it only when nobody changed it since. */
export async function replaceResource(
  client: KubeClient,
  ref: ObjectRef,
  body: Fields,
  limits: Limits = {},
): Promise<Fields> {
  const what = describe('update', ref)
  return fieldsOf(await client.request({ method: 'PUT', path: pathOf(ref), body, what, ...limits }))
}

/** Changes some of one thing. */
export async function patchResource(
  client: KubeClient,
  ref: ObjectRef,
  patch: PatchType,
  body: Fields,
  { dryRun, ...limits }: WriteLimits = {},
): Promise<Fields> {
  const what = describe('patch', ref)
  const path = pathOf(ref)
  const query = dryRunQuery(dryRun)
  const request = { method: 'PATCH', path, query, body, patch, what, ...limits } as const
  return fieldsOf(await client.request(request))
}

function dryRunQuery(dryRun: boolean | undefined): { readonly dryRun: string | undefined } {
  return { dryRun: dryRun === true ? 'All' : undefined }
}

/** Reads all things of a kind, page by page. */
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

/** Returns the metadata of a resource. */
export function metadataOf(thing: Fields): Metadata {
  const metadata = fieldsOf(thing['metadata'])
  return {
    name: textOf(metadata['name']) ?? '',
    namespace: textOf(metadata['namespace']),
    uid: textOf(metadata['uid']),
    resourceVersion: textOf(metadata['resourceVersion']),
    labels: textsOf(metadata['labels']),
    annotations: textsOf(metadata['annotations']),
    isLeaving: metadata['deletionTimestamp'] !== undefined,
  }
}

/** Where something is below the API server. */
export function pathOf({
  kind: { group, version, plural, namespaced },
  namespace,
  name,
}: ObjectRef): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const within = namespaced && namespace !== undefined ? `/namespaces/${part(namespace)}` : ''
  return `${root}${within}/${plural}${name === undefined ? '' : `/${part(name)}`}`
}

function describe(
  verb: string,
  { kind: { plural, namespaced }, namespace, name }: ObjectRef,
): string {
  const which = name === undefined ? '' : ` "${name}"`
  if (!namespaced) return `${verb} ${plural}${which}`
  return `${verb} ${plural}${which} ${namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`}`
}

/** A name that would lead elsewhere is no name. */
function part(name: string): string {
  return name === '.' || name === '..' ? encodeURIComponent(`${name}/`) : encodeURIComponent(name)
}

function kind(group: string, plural: string): ResourceKind {
  return { group, version: 'v1', plural, namespaced: true }
}
