import { posix } from 'node:path'
import { type Fields, fieldsOf, foreign, instantText, listOf, textOf, textsOf } from '#base'
import { digestOf, isRulesFileName, type RulesText, STOP_KEY } from '#rules'
import type { KubeClient } from './kube-client.ts'
import { CREATE_ANEW } from './kube-error.ts'
import { CONFIG_MAPS, metadataOf, type NamedRef, type WriteLimits } from './resources.ts'
import type { RulesConfigMap } from './injected-pod.ts'

/** The keys of a ConfigMap with their contents. */
export type ConfigMapKeys = ReadonlyMap<string, Uint8Array>

/** New values; null removes a key. */
interface ConfigMapChange {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string | null>>
  readonly data: Readonly<Record<string, string | null>>
}

/** Selects all keys, as a sidecar without a configured key does. */
export const WHOLE_MOUNT: RulesConfigMap = { configMap: '', key: undefined, path: '', items: [] }

/** Changes a ConfigMap unless another client has changed it meanwhile, or creates it. */
export function changeConfigMap(
  client: KubeClient,
  { namespace, name }: NamedRef,
  before: Fields | undefined,
  change: ConfigMapChange,
  limits: WriteLimits,
): Promise<Fields> {
  const ref = { kind: CONFIG_MAPS, namespace, name }
  const { data, ...metadata } = change
  if (before === undefined) {
    const labels = { 'app.kubernetes.io/part-of': 'squall', ...change.labels }
    const own = { name, namespace, ...metadata, labels }
    return client.create(ref, { apiVersion: 'v1', kind: 'ConfigMap', metadata: own, data }, limits)
  }
  const { resourceVersion } = metadataOf(before)
  // A key may be in one of both.
  const binaryData = Object.fromEntries(Object.keys(data).map((key) => [key, null]))
  const body = { metadata: { resourceVersion, ...metadata }, data, binaryData }
  return client.patch(ref, 'merge', body, limits)
}

export function configMapKeys(configMap: Fields): ConfigMapKeys {
  const texts = Object.entries(textsOf(configMap['data'])).map(
    ([key, text]) => [key, Buffer.from(text, 'utf8')] as const,
  )
  const binary = Object.entries(textsOf(configMap['binaryData'])).map(
    ([key, text]) => [key, Buffer.from(text, 'base64')] as const,
  )
  return new Map([...texts, ...binary])
}

/** Kubernetes keeps no more; the rest is for the stop key and the names of all keys. */
const MOST_BYTES = 1024 * 1024 - 16 * 1024

/** Returns why `squall stop` could not write its key; what adds no bytes is not the reason. */
export function stopProblem(now: Fields, keys: ConfigMapKeys, before?: Fields): string | undefined {
  const wrong = 'squall stop could not end these rules: the ConfigMap'
  if (before?.['immutable'] === true) return `${wrong} is immutable; ${CREATE_ANEW}`
  if (now['immutable'] === true) return `${wrong} is immutable; remove immutable: true`
  const bytes = sizeOf(keys)
  if (bytes <= MOST_BYTES || bytes <= sizeOf(configMapKeys(before ?? {}))) return undefined
  return `${wrong} would have ${bytes} bytes of data; use at most ${MOST_BYTES}`
}

/** Returns the bytes of data without the stop key, which has its own place. */
function sizeOf(keys: ConfigMapKeys): number {
  return [...keys].reduce((sum, [key, { length }]) => sum + (key === STOP_KEY ? 0 : length), 0)
}

/** Returns the files that a sidecar finds when these keys are mounted. */
export function mountedTexts(keys: ConfigMapKeys, mount: RulesConfigMap): readonly RulesText[] {
  if (mount.key !== undefined) {
    const bytes = keys.get(mount.key)
    return bytes === undefined ? [] : [{ file: mount.path, bytes }]
  }
  const files =
    mount.items.length === 0
      ? [...keys].map(([key, bytes]) => ({ name: key, bytes }))
      : mount.items.flatMap(({ key, path }) => {
          const bytes = keys.get(key)
          return bytes === undefined ? [] : [{ name: path, bytes }]
        })
  return files
    .filter(({ name }) => isRulesFileName(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, bytes }) => ({ file: posix.join(mount.path, name), bytes }))
}

/**
 * Returns the digest that a sidecar reports for these keys; undefined when there is nothing to
 * read.
 */
export function expectedDigest(keys: ConfigMapKeys, mount: RulesConfigMap): string | undefined {
  const texts = mountedTexts(keys, mount)
  if (mount.key !== undefined && texts.length === 0) return undefined
  return digestOf(mount.key === undefined, texts, [])
}

/** Returns true when a sidecar reads the key. */
export function readsKey(mount: RulesConfigMap, key: string): boolean {
  if (mount.key !== undefined) return mount.key === key
  if (mount.items.length === 0) return isRulesFileName(key)
  return mount.items.some((item) => item.key === key && isRulesFileName(item.path))
}

/** Returns the content of a key. */
export function textBefore(configMap: Fields | undefined, key: string): string | undefined {
  const bytes = configMapKeys(configMap ?? {}).get(key)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8')
}

/** Describes who wrote a key last, and when. */
export function lastChange(configMap: Fields | undefined, key: string, prefix: string): string {
  const { manager = 'squall' } = writesOf(configMap, key).at(-1) ?? {}
  // Other programs leave the annotation as it is.
  const by = metadataOf(configMap ?? {}).annotations[`${prefix}applied-by`]
  const who = manager.startsWith('squall') ? (by ?? manager) : manager
  const at = instantText(writtenAt(configMap, key))
  return `by ${foreign(who)}${at === undefined ? '' : ` at ${at}`}`
}

/** The labels, annotations and field managers of GitOps tools. */
const TOOLS = [
  ['Argo CD', /argocd\.argoproj\.io\/|^argocd-/],
  ['Flux', /\.toolkit\.fluxcd\.io\/|^(?:kustomize|helm)-controller$/],
] as const

/** Returns a warning for a ConfigMap that a GitOps tool manages; `what` was written into it. */
export function gitOpsWarning(configMap: Fields | undefined, what: string): string | undefined {
  const { name, namespace, labels, annotations } = metadataOf(configMap ?? {})
  const writers = managedFields(configMap).flatMap(({ manager }) => textOf(manager) ?? [])
  const names = [...Object.keys({ ...labels, ...annotations }), ...writers]
  const [tool] = TOOLS.find(([, mark]) => names.some((each) => mark.test(each))) ?? []
  if (tool === undefined) return undefined
  return `${tool} manages the ConfigMap ${name} in ${namespace} and may revert the change at its next sync; write ${what} into Git as well, or suspend the sync`
}

/** Returns when a key last changed, or else when the ConfigMap was created. */
export function writtenAt(configMap: Fields | undefined, key: string): number | undefined {
  const made = Date.parse(textOf(fieldsOf(configMap?.['metadata'])['creationTimestamp']) ?? '')
  const times = [...writesOf(configMap, key).map(({ at }) => at), made]
  const known = times.filter((at) => Number.isFinite(at))
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Clients may write later times into an object. */
const MAX_AHEAD_MS = 60_000

/**
 * Returns the time of the API server, which notes it in a changed object before admission; that of
 * this process where it does not.
 */
export function serverTime(object: Fields): number {
  const times = managedFields(object).map(({ time }) => Date.parse(textOf(time) ?? ''))
  const known = times.filter((at) => Number.isFinite(at))
  const latest = Date.now() + MAX_AHEAD_MS
  return known.length === 0 ? Date.now() : Math.min(Math.max(...known), latest)
}

function managedFields(object: Fields | undefined): readonly Fields[] {
  return listOf(fieldsOf(object?.['metadata'])['managedFields'])
}

/** Returns the programs that wrote a key, by time. */
function writesOf(
  configMap: Fields | undefined,
  key: string,
): readonly { readonly at: number; readonly manager?: string | undefined }[] {
  const writes = managedFields(configMap).flatMap(({ fieldsV1, time, manager }) => {
    const data = fieldsOf(fieldsOf(fieldsV1)['f:data'])
    if (!Object.hasOwn(data, `f:${key}`)) return []
    return [{ at: Date.parse(textOf(time) ?? ''), manager: textOf(manager) }]
  })
  return writes.sort((one, other) => one.at - other.at)
}
