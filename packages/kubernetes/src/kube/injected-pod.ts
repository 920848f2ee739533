import { posix } from 'node:path'
import { type Fields, fieldsOf, listOf, parsedJson, quoted, textOf, textsOf } from '#base'
import {
  ADMIN_PORT_NAME,
  LABELS_VARIABLE,
  RULES_VOLUME,
  SIDECAR,
  SIDECAR_LABEL,
  WORKLOAD_VARIABLE,
} from '../injector/injected-names.ts'
import { isWindows } from '../injector/gatekeeper.ts'
import { ATTACHED_ADMIN_PORT, attachedContainers, ephemeralState } from './attach-container.ts'
import type { PodSelf } from '#rules'
import type { KubeClient } from './kube-client.ts'
import { isKubeError, KubeError } from './kube-error.ts'
import { type Limits, metadataOf, NAMESPACES, PODS } from './resources.ts'

/** Locates the rules of a sidecar. */
export interface RulesConfigMap {
  readonly configMap: string
  /** The only key that is read; undefined when all of them are. */
  readonly key: string | undefined
  /** The path of the directory or file in the sidecar. */
  readonly path: string
  /** Keys under other names. */
  readonly items: readonly { readonly key: string; readonly path: string }[]
}

export interface InjectedPod {
  readonly namespace: string
  readonly name: string
  readonly uid: string | undefined
  readonly node: string | undefined
  /** `absent` for a pod that asks for a sidecar and has none. */
  readonly sidecar: 'running' | 'starting' | 'ended' | 'absent'
  readonly adminPort: number
  readonly mode: string
  readonly rules: RulesConfigMap | undefined
  readonly labels: Readonly<Record<string, string>>
  /** Ports of the upstream that were taken over. */
  readonly ports: readonly { readonly number: number; readonly name?: string | undefined }[]
  /** Warnings of the injector when the pod was made. */
  readonly warnings: readonly string[]
  /** The labels and workload that its sidecar compares with rules about certain pods. */
  readonly self: PodSelf
}

const ADMIN_PORT = 15390
const MAX_WARNINGS = 10
const NEVER_UPDATED =
  'its rules are mounted with subPath, so Kubernetes never updates them: mount the whole ConfigMap as a directory'

/** Selects pods with a sidecar. */
export interface PodScope {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly selector: string | undefined
  readonly prefix: string
  /** Lists also pods without the label of the injector, among them those without a sidecar. */
  readonly unlabelled: boolean
}

/**
 * Lists the pods that have or ask for a sidecar, by namespace and name. `onPage` gets the pods of
 * each page before the next page is read. Throws where the namespace does not exist.
 */
export async function listInjectedPods(
  client: KubeClient,
  { namespace, selector, prefix, unlabelled }: PodScope,
  limits: Limits,
  onPage?: (pods: readonly InjectedPod[]) => Promise<void>,
): Promise<readonly InjectedPod[]> {
  const label = unlabelled ? undefined : `${prefix}${SIDECAR_LABEL}`
  const labels = [selector, label].filter(Boolean).join(',') || undefined
  const found = await client.list({ kind: PODS, namespace }, labels, limits, async (page) => {
    const pods = page.flatMap((pod) => readInjectedPod(pod, prefix) ?? [])
    await onPage?.(pods)
    return pods
  })
  if (found.length === 0 && namespace !== undefined) {
    await client.get({ kind: NAMESPACES, name: namespace }, limits).catch((error: unknown) => {
      if (!isKubeError(error, 'not_found')) return
      const wrong = `the namespace ${quoted(namespace)} does not exist; check -n and --context`
      throw new KubeError('not_found', wrong)
    })
  }
  const key = (pod: InjectedPod): string => `${pod.namespace}/${pod.name}`
  return found.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}

/**
 * Reads a pod and its sidecar; undefined when it neither has nor asks for one, or is terminating.
 */
export function readInjectedPod(pod: Fields, prefix: string): InjectedPod | undefined {
  const { name, namespace = '', uid, annotations, labels, isTerminating } = metadataOf(pod)
  if (isTerminating) return undefined
  const spec = fieldsOf(pod['spec'])
  const container = [...listOf(spec['containers']), ...listOf(spec['initContainers'])].find(
    (each) => each['name'] === SIDECAR,
  )
  const node = textOf(spec['nodeName'])
  const common = { namespace, name, uid, node, labels, rules: undefined, self: {} }
  const [attached] = attachedContainers(pod)
  if (container === undefined && attached !== undefined) {
    const sidecar = 'running' in ephemeralState(pod, attached['name']) ? 'running' : 'starting'
    const status = { ...statusOf(undefined, undefined), mode: 'attached' }
    return { ...common, ...status, sidecar, adminPort: ATTACHED_ADMIN_PORT }
  }
  const status = statusOf(annotations[`${prefix}status`], container)
  if (container === undefined) {
    const asks = [annotations, labels].map((each) => each[`${prefix}inject`])
    const isMeant = asks.includes('true') && !asks.includes('false') && phaseOf(pod) !== 'ended'
    return isMeant && !isWindows(pod)
      ? { ...common, ...status, sidecar: 'absent', adminPort: ADMIN_PORT }
      : undefined
  }
  const number = portWith(container, 'name', ADMIN_PORT_NAME)?.['containerPort']
  const rules = rulesConfigMap(spec, container)
  const { subPath, subPathExpr = subPath } = rulesMount(container) ?? {}
  const never = rules === undefined || subPathExpr === undefined ? [] : [NEVER_UPDATED]
  return {
    ...common,
    ...status,
    warnings: [...status.warnings, ...never],
    sidecar: phaseOf(pod),
    adminPort: typeof number === 'number' ? number : ADMIN_PORT,
    rules,
    self: selfOf(container, labels),
  }
}

function portWith(container: Fields | undefined, key: string, value: unknown): Fields | undefined {
  return listOf(container?.['ports']).find((each) => each[key] === value)
}

/** Returns the facts that a sidecar reports about its pod; older versions report none. */
function selfOf(container: Fields, labels: Readonly<Record<string, string>>): PodSelf {
  const env = new Map(listOf(container['env']).map(({ name, value }) => [name, textOf(value)]))
  return {
    workload: env.get(WORKLOAD_VARIABLE),
    labels: env.get(LABELS_VARIABLE) === undefined ? undefined : labels,
  }
}

/** Reads the annotation of the injector; Services find a port of the sidecar by its name. */
function statusOf(
  text: string | undefined,
  container: Fields | undefined,
): Pick<InjectedPod, 'mode' | 'warnings' | 'ports'> {
  // Another program may have written the annotation.
  const status = fieldsOf(parsedJson(text ?? ''))
  const warnings = Array.isArray(status['warnings']) ? status['warnings'] : []
  return {
    mode: textOf(status['mode']) ?? '?',
    warnings: warnings.filter((each) => typeof each === 'string').slice(0, MAX_WARNINGS),
    ports: Object.entries(fieldsOf(status['ports'])).map(([number, listen]) => ({
      number: Number(number),
      name: textOf(portWith(container, 'containerPort', listen)?.['name']),
    })),
  }
}

function phaseOf(pod: Fields): InjectedPod['sidecar'] {
  const status = fieldsOf(pod['status'])
  const phase = status['phase']
  if (phase === 'Succeeded' || phase === 'Failed') return 'ended'
  const found = [
    ...listOf(status['containerStatuses']),
    ...listOf(status['initContainerStatuses']),
  ].find((each) => each['name'] === SIDECAR)
  return fieldsOf(found?.['state'])['running'] === undefined ? 'starting' : 'running'
}

function rulesConfigMap(spec: Fields, container: Fields): RulesConfigMap | undefined {
  const volume = listOf(spec['volumes']).find((each) => each['name'] === RULES_VOLUME)
  const configMap = fieldsOf(volume?.['configMap'])
  const name = textOf(configMap['name'])
  const mount = rulesMount(container)
  const directory = textOf(mount?.['mountPath'])
  const path = rulesPath(container)
  if (name === undefined || directory === undefined || path === undefined) return undefined
  const items = listOf(configMap['items']).map((each) => textsOf(each))
  const renamed = items.flatMap(({ key, path: to }) =>
    key === undefined || to === undefined ? [] : [{ key, path: to }],
  )
  const inside = posix.relative(directory, path)
  if (inside.startsWith('..')) return undefined
  const file = posix.join(textOf(mount?.['subPath']) ?? '.', inside)
  if (file === '.' || renamed.some(({ path: to }) => to.startsWith(`${file}/`)))
    return { configMap: name, key: undefined, path, items: renamed }
  const key = renamed.find((each) => each.path === file)?.key ?? file
  return { configMap: name, key, path, items: renamed }
}

function rulesMount(container: Fields): Fields | undefined {
  return listOf(container['volumeMounts']).find((each) => each['name'] === RULES_VOLUME)
}

/** Returns the path of the rules from the sidecar's command line, or else its environment. */
function rulesPath(container: Fields): string | undefined {
  const { args, command } = container
  const words = [command, args].flatMap((each) => (Array.isArray(each) ? each.map(String) : []))
  const at = words.findLastIndex((word) => word === '--rules' || word.startsWith('--rules='))
  if (at >= 0) return words[at]!.startsWith('--rules=') ? words[at]!.slice(8) : words[at + 1]
  const variable = listOf(container['env']).find((each) => each['name'] === 'SQUALL_RULES')
  return textOf(variable?.['value'])
}
