import { endingAfter } from '#base'
import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError } from '#admin-api'
import {
  describe,
  isKubeError,
  type KubeClient,
  KubeError,
  type ObjectRef,
  pathOf,
  podId,
  PODS,
  type WatchedPod,
} from '#kubernetes'
import type { PodsSpec } from '../../experiment/plan.ts'
import { rejectionError } from '../../experiment/rejection.ts'
import type { Killing } from '../../experiment/sidecars.ts'

type Look = (signal?: AbortSignal) => Promise<readonly WatchedPod[]>

type Kills = NonNullable<PodsSpec['kills']>

const POLL_MS = 500

/**
 * Returns the killing of some ready pods in each stage, others in each stage as far as there are.
 */
export function podKilling(client: KubeClient, kills: Kills, look: Look): Killing {
  const { pod: count } = kills
  const readyPods = async (signal?: AbortSignal): Promise<readonly WatchedPod[]> =>
    (await look(signal)).filter(({ isReady }) => isReady)
  const check = async (): Promise<readonly WatchedPod[]> => {
    const pods = await readyPods()
    if (pods.length >= count) return pods
    throw rejectionError(
      'NOT_ENOUGH_PODS',
      `kill.pod is ${count}, but ${pods.length} pods are ready`,
      'wait until the pods are ready, or kill fewer',
    )
  }
  return {
    check: async () => {
      try {
        await check()
      } catch (error) {
        // The check of the sidecars reports what cannot be read.
        if (!(error instanceof AdminError)) throw error
      }
    },
    kill: async (stage, withinMs, signal) => {
      const pods = await check().catch((error: unknown) => {
        if (!(error instanceof AdminError)) throw error
        throw rejectionError('NOT_ENOUGH_PODS', error.message, 'check the access to the cluster')
      })
      const dead = Array.from({ length: count }, (_, i) => pods[(stage * count + i) % pods.length]!)
      const until = endingAfter(withinMs, signal)
      for (const { pod } of dead) await removePod(client, pod, kills, until)
      const gone = new Set(dead.map(({ pod }) => podId(pod)))
      return {
        what: names(dead),
        successor: async (restartMs, stop) => {
          const end = performance.now() + restartMs
          while (performance.now() < end && !stop.aborted) {
            const ready = await readyPods(stop).catch(() => [])
            const left = ready.filter(({ pod }) => !gone.has(podId(pod)))
            const known = new Set(pods.map(({ pod }) => podId(pod)))
            if (left.length >= pods.length)
              return names(left.filter((each) => !known.has(podId(each.pod))))
            await sleep(POLL_MS, undefined, { signal: stop }).catch(() => {})
          }
          return undefined
        },
      }
    },
  }
}

/** Evicts a pod, which a PodDisruptionBudget may block for a time; `force` deletes it instead. */
async function removePod(
  client: KubeClient,
  { namespace, name }: WatchedPod['pod'],
  { force }: Kills,
  until: AbortSignal,
): Promise<void> {
  const ref = { kind: PODS, namespace, name }
  const right = force ? 'delete pods' : 'create pods/eviction'
  for (;;) {
    try {
      return void (await (force ? client.delete(ref) : evict(client, ref)))
    } catch (error) {
      if (isKubeError(error, 'not_found')) return
      if (!(error instanceof KubeError)) throw error
      const isBlocked = error.code === 'too_many_requests'
      if (!isBlocked || until.aborted) {
        const fix = isBlocked
          ? 'add replicas, or set kill.force: true'
          : `get permission to ${right}`
        throw rejectionError('NOT_ENOUGH_PODS', error.message, fix)
      }
      await sleep(POLL_MS, undefined, { signal: until }).catch(() => {})
    }
  }
}

function evict(client: KubeClient, ref: ObjectRef): Promise<unknown> {
  const { namespace, name } = ref
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } }
  const path = `${pathOf(ref)}/eviction`
  return client.request({ method: 'POST', path, body, what: describe('evict', ref) })
}

function names(pods: readonly WatchedPod[]): string {
  return `pod${pods.length === 1 ? '' : 's'} ${pods.map(({ pod }) => pod.name).join(', ')}`
}
