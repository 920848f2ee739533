import type { AwaitedPod } from './apply-rules.ts'
import { armedText, type Look, type PodProgress } from './await-rules.ts'
import type { InjectedPod } from './injected-pod.ts'
import { isKubeError, KubeError } from './kube-error.ts'
import { sidecarState } from './sidecar-api.ts'
import { seesStopKey } from './stop-sidecars.ts'

const STARTING = 'its sidecar does not run yet; it reads the stop key before it takes calls'

/** Returns whether a sidecar is waited for, and why not. */
export function beginStop(pod: InjectedPod): PodProgress {
  if (pod.sidecar === 'starting') return { state: 'skipped', detail: STARTING }
  if (pod.sidecar !== 'running') return { state: 'gone', detail: 'its sidecar does not run' }
  if (seesStopKey(pod)) return { state: 'waiting', detail: 'not asked yet' }
  const detail =
    pod.rules === undefined
      ? 'reads no ConfigMap; disarm it by its admin API, or delete the pod'
      : 'was injected without the stop key; restart its workload, or delete the ConfigMap'
  return { state: 'rejected', detail, problems: [] }
}

/** Asks sidecars until they say that they are stopped, or not any more. */
export function stopLook(wanted: 'stopped' | 'resumed'): Look {
  return async (client, { pod }: AwaitedPod, options): Promise<PodProgress> => {
    try {
      const state = await sidecarState(client, pod, options)
      const isStopped = state.reasons.some(({ by }) => by === 'stopped')
      const detail = armedText(state)
      if (isStopped === (wanted === 'stopped')) return { state: wanted, detail }
      return { state: 'waiting', detail: isStopped ? detail : `not stopped yet, ${detail}` }
    } catch (error) {
      if (isKubeError(error, 'not_found')) return { state: 'gone', detail: 'the pod has gone' }
      if (isKubeError(error, 'forbidden', 'unauthorized')) {
        return { state: 'unconfirmed', detail: (error as Error).message }
      }
      if (error instanceof KubeError) return { state: 'waiting', detail: error.message }
      if (options.signal?.aborted === true) return { state: 'waiting', detail: 'stopped waiting' }
      throw error
    }
  }
}
