import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError } from '../../../admin/api-client.ts'
import type { KubeClient } from '../../../cluster/kube/kube-client.ts'
import { isKubeError, KubeError } from '../../../cluster/kube/kube-error.ts'
import { PODS } from '../../../cluster/kube/resources.ts'
import { podId, type WatchedPod } from '../../../cluster/kube/watched-pods.ts'
import { rejectionError } from '../../../lab/experiment/rejection.ts'
import type { Killing } from '../../../lab/experiment/sidecars.ts'

type Look = (signal?: AbortSignal) => Promise<readonly WatchedPod[]>

const POLL_MS = 500

/**
 * Returns the killing of some ready pods in each stage, others in each stage as far as there are.
 */
export function podKilling(client: KubeClient, count: number, look: Look): Killing {
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
    kill: async (stage) => {
      const pods = await check().catch((error: unknown) => {
        if (!(error instanceof AdminError)) throw error
        throw rejectionError('NOT_ENOUGH_PODS', error.message, 'check the access to the cluster')
      })
      const dead = Array.from({ length: count }, (_, i) => pods[(stage * count + i) % pods.length]!)
      for (const { pod } of dead) await deletePod(client, pod)
      const gone = new Set(dead.map(({ pod }) => podId(pod)))
      return {
        what: names(dead),
        successor: async (withinMs, signal) => {
          const until = performance.now() + withinMs
          while (performance.now() < until && !signal.aborted) {
            const ready = await readyPods(signal).catch(() => [])
            const left = ready.filter(({ pod }) => !gone.has(podId(pod)))
            const known = new Set(pods.map(({ pod }) => podId(pod)))
            if (left.length >= pods.length)
              return names(left.filter((each) => !known.has(podId(each.pod))))
            await sleep(POLL_MS, undefined, { signal }).catch(() => {})
          }
          return undefined
        },
      }
    },
  }
}

async function deletePod(
  client: KubeClient,
  { namespace, name }: WatchedPod['pod'],
): Promise<void> {
  try {
    await client.delete({ kind: PODS, namespace, name })
  } catch (error) {
    if (isKubeError(error, 'not_found')) return
    if (!(error instanceof KubeError)) throw error
    throw rejectionError('NOT_ENOUGH_PODS', error.message, 'get the right to delete pods')
  }
}

function names(pods: readonly WatchedPod[]): string {
  return `pod${pods.length === 1 ? '' : 's'} ${pods.map(({ pod }) => pod.name).join(', ')}`
}
