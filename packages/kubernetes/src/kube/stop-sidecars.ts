import { API } from '#admin-api'
import { type Fields, fieldsOf, foreign } from '#base'
import { parseStops, type Stop, STOP_KEY, stopsText } from '#rules'
import { armedText, type PodCheck, type PodProgress, waitingDespite } from './await-rules.ts'
import type { InjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { isKubeError, KubeError, retryConflicts } from './kube-error.ts'
import { askSidecar } from './sidecar-api.ts'
import { CONFIG_MAPS, type NamedRef, type WriteLimits } from './resources.ts'
import { changeConfigMap } from './config-map-rules.ts'

/**
 * The change of the stop key; `others` when it still stops some pods, `left` when it was not tried,
 * `reverted` when another program undid it.
 */
export type StopChange = 'stopped' | 'resumed' | 'unchanged' | 'others' | 'left' | 'reverted'

const STARTING = 'its sidecar is not running yet; it reads the stop key before it accepts calls'

/** Returns whether a ConfigMap stops any of the sidecars that read it. */
export function isStopped(configMap: Fields | undefined): boolean {
  return stopsOf(configMap)?.length !== 0
}

/**
 * Returns the stops of a ConfigMap; undefined when the key holds anything else, which stops all.
 */
export function stopsOf(configMap: Fields | undefined): readonly Stop[] | undefined {
  const text = fieldsOf(configMap?.['data'])[STOP_KEY]
  // An empty key is one: `kubectl patch` writes it in an emergency.
  return typeof text === 'string' ? parseStops(text) : []
}

/** Returns true where a ConfigMap stops all the pods that it stopped before. */
export function keepsStops(now: Fields, before: Fields | undefined): boolean {
  const [left, old] = [stopsOf(now), stopsOf(before)]
  if (left === undefined || left.some(({ selector }) => selector === undefined)) return true
  return old?.every(({ selector }) => left.some((each) => each.selector === selector)) === true
}

/** Returns the ConfigMaps that pods read, and the one that later pods will read. */
export function stopConfigMaps(
  pods: readonly InjectedPod[],
  namespace: string | undefined,
  configMap: string,
): readonly NamedRef[] {
  const namespaces = namespace === undefined ? pods.map((pod) => pod.namespace) : [namespace]
  const all = [
    ...namespaces.map((each) => ({ namespace: each, name: configMap })),
    ...pods.flatMap(({ rules, namespace: within }) =>
      rules === undefined ? [] : [{ namespace: within, name: rules.configMap }],
    ),
  ]
  return [...new Map(all.map((ref) => [refKey(ref), ref])).values()]
}

export function refKey({ namespace, name }: NamedRef): string {
  return `${namespace}/${name}`
}

/** Returns whether a sidecar can see the stop key of its ConfigMap. */
function seesStopKey({ rules }: InjectedPod): boolean {
  if (rules === undefined) return false
  return rules.items.length === 0 || rules.items.some(({ path }) => path === STOP_KEY)
}

/**
 * Writes a stop into a ConfigMap, or creates it; `keepStopped` keeps a stop of all pods as it is.
 */
export function writeStop(
  client: KubeClient,
  ref: NamedRef,
  stop: Stop,
  annotations: Readonly<Record<string, string>>,
  {
    keepStopped = false,
    onWritten,
    ...limits
  }: WriteLimits & {
    readonly keepStopped?: boolean
    readonly onWritten: (kept: Fields) => void
  },
): Promise<StopChange> {
  return retryConflicts(async () => {
    let stops: readonly Stop[] = [stop]
    let found: Fields | undefined
    if (stop.selector !== undefined || keepStopped) {
      found = await client.find({ kind: CONFIG_MAPS, ...ref }, limits)
      const before = stopsOf(found)
      // A stop of all pods covers these.
      const coversAll = before?.some(({ selector }) => selector === undefined) !== false
      if (coversAll) return 'unchanged'
      stops = [...before.filter(({ selector }) => selector !== stop.selector), stop]
    }
    const change = { annotations, data: { [STOP_KEY]: stopsText(stops) } }
    // Without a version where the ConfigMap was not read: a stop is written over any change.
    const kept = await changeConfigMap(client, ref, found ?? {}, change, limits).catch(
      (error: unknown) => {
        if (!isKubeError(error, 'not_found')) throw error
        return changeConfigMap(client, ref, undefined, change, limits)
      },
    )
    onWritten(kept)
    return 'stopped'
  })
}

/**
 * Removes the stop of a selector from a ConfigMap; without a selector all stops. A stop that is
 * written meanwhile stays. `check` returns the reason why a ConfigMap must stay as it is.
 */
export function liftStop(
  client: KubeClient,
  ref: NamedRef,
  selector: string | undefined,
  annotations: Readonly<Record<string, string>>,
  { check, ...limits }: WriteLimits & { readonly check: (found: Fields) => KubeError | undefined },
): Promise<StopChange> {
  let first: string | undefined
  return retryConflicts(async () => {
    const found = await client.find({ kind: CONFIG_MAPS, ...ref }, limits)
    const text = fieldsOf(found?.['data'])[STOP_KEY]
    const stops = stopsOf(found)
    // Without the key, sidecars may remember a stop that another tool has removed.
    const isWritten = text !== undefined
    if (found === undefined || (stops?.length === 0 && (isWritten || selector !== undefined))) {
      return 'unchanged'
    }
    const problem = check(found)
    if (problem !== undefined && !isWritten) return 'unchanged'
    if (problem !== undefined) throw problem
    first ??= stopsText(stops ?? [])
    if (first !== stopsText(stops ?? [])) throw stoppedAgain(stops)
    const left = selector === undefined ? [] : stops?.filter((each) => each.selector !== selector)
    if (left === undefined || (isWritten && left.length === stops?.length)) return 'others'
    // Sidecars remember a stop whose key is absent.
    const change = { annotations, data: { [STOP_KEY]: stopsText(left) } }
    await changeConfigMap(client, ref, found, change, limits)
    return left.length === 0 ? 'resumed' : 'others'
  })
}

function stoppedAgain(stops: readonly Stop[] | undefined): KubeError {
  const { by = 'somebody', at } = stops?.at(-1) ?? {}
  const when = at === undefined ? '' : ` at ${foreign(at)}`
  const wrong = `not resumed: ${foreign(by)} stopped them${when}, after this command began`
  return new KubeError('not_permitted', wrong)
}

/** Returns the first progress of a sidecar: waiting, or the reason not to wait. */
export function beginStop(pod: InjectedPod): PodProgress {
  if (pod.sidecar === 'starting') return { state: 'skipped', detail: STARTING }
  if (pod.sidecar !== 'running') return { state: 'gone', detail: 'its sidecar is not running' }
  if (seesStopKey(pod)) return { state: 'waiting', detail: 'not queried yet' }
  const detail =
    pod.rules === undefined
      ? 'does not read a ConfigMap; disarm it through its admin API, or delete the pod'
      : 'was injected without the stop key; restart its workload, or delete the ConfigMap'
  return { state: 'rejected', detail, problems: [] }
}

/** Returns a check whether a sidecar is stopped, or not any more. */
export function stopCheck(wanted: 'stopped' | 'resumed'): PodCheck {
  return async (client, { pod }, options) => {
    try {
      const state = await askSidecar(client, pod, API.state, options)
      const hasStopped = state.reasons.some(({ by }) => by === 'stopped')
      const detail = armedText(state)
      if (hasStopped === (wanted === 'stopped')) return { state: wanted, detail }
      return { state: 'waiting', detail: hasStopped ? detail : `not stopped yet, ${detail}` }
    } catch (error) {
      if (isKubeError(error, 'not_found')) return { state: 'gone', detail: 'the pod is gone' }
      if (isKubeError(error, 'forbidden', 'unauthorized')) {
        return { state: 'unconfirmed', detail: error.message }
      }
      return waitingDespite(error, options, 'stopped waiting')
    }
  }
}
