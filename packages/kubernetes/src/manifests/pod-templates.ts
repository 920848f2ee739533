import { isRecord, textOf } from '#base'

/** One pod, or template of pods, within a document. */
export interface PodTemplate {
  /** The keys that lead to it. */
  readonly path: readonly (string | number)[]
  /** The workload that creates the pods. */
  readonly owner: string
  /** The name in messages: `deployment/tools`. */
  readonly label: string
  /** Name of what makes pods of it; undefined where it has none. */
  readonly workload: string | undefined
  /** The namespace that its owner names. */
  readonly namespace: string | undefined
  readonly value: unknown
}

/** An object of Kubernetes within a document, which may be a list of them. */
export interface KubeObject {
  readonly path: readonly (string | number)[]
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
  readonly value: Readonly<Record<string, unknown>>
}

const TEMPLATE = ['spec', 'template'] as const
/**
 * The kinds with a pod: the keys that lead to it, the resource where the webhook checks it, and the
 * kind that creates the pods where that is another.
 */
export const WORKLOADS: ReadonlyMap<
  string,
  readonly [path: readonly string[], resource?: string, owner?: string]
> = new Map([
  ['Pod', [[]]],
  ['Deployment', [TEMPLATE, 'apps/deployments', 'ReplicaSet']],
  ['StatefulSet', [TEMPLATE, 'apps/statefulsets']],
  ['DaemonSet', [TEMPLATE, 'apps/daemonsets']],
  ['ReplicaSet', [TEMPLATE, 'apps/replicasets']],
  ['ReplicationController', [TEMPLATE]],
  ['Rollout', [TEMPLATE]],
  ['Job', [TEMPLATE, 'batch/jobs']],
  ['CronJob', [['spec', 'jobTemplate', ...TEMPLATE], 'batch/cronjobs', 'Job']],
  ['PodTemplate', [['template']]],
])
const MOST_NESTED = 8

/** The objects of a document: itself, or those of the list that it is. */
export function objectsOf(
  value: unknown,
  path: readonly (string | number)[] = [],
): readonly KubeObject[] {
  if (!isRecord(value) || typeof value['kind'] !== 'string') return []
  const { kind, items, metadata } = value
  if (kind.endsWith('List') && Array.isArray(items)) {
    if (path.length > MOST_NESTED) return []
    return items.flatMap((item, i) => objectsOf(item, [...path, 'items', i]))
  }
  const meta = isRecord(metadata) ? metadata : {}
  const name = textOf(meta['name']) ?? textOf(meta['generateName']) ?? '?'
  return [{ path, kind, name, namespace: textOf(meta['namespace']), value }]
}

/** Where an object holds a pod; undefined where it holds none. */
export function podOf({ path, kind, name, namespace, value }: KubeObject): PodTemplate | undefined {
  const [way] = WORKLOADS.get(kind) ?? []
  if (way === undefined) return undefined
  let found: unknown = value
  for (const key of way) found = isRecord(found) ? found[key] : undefined
  if (found === undefined || found === null) return undefined
  const label = `${kind.toLowerCase()}/${name}`
  const workload = name === '?' ? undefined : name.replace(/-+$/, '')
  return { path: [...path, ...way], owner: kind, label, workload, namespace, value: found }
}
