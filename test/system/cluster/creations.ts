import type { Cluster } from './start-cluster.ts'
import { ASKS } from './questions.ts'
import { loosePod } from './workloads.ts'

/** Creations that never pause until they are ended. */
export interface Creations {
  /** Ends them; resolves with how many there were, and why any was refused. */
  end(): Promise<{ readonly asked: number; readonly refusals: readonly string[] }>
}

const AT_ONCE = 10

/**
 * Creates pods that ask for the sidecar, as dry runs on the server: admission does all that it
 * does, and nothing is stored.
 */
export function createWithoutPause(cluster: Cluster, namespace: string): Creations {
  const pods = Array.from({ length: AT_ONCE }, (_, i) => loosePod(`asks-${i}`, ASKS))
  const list = `{"apiVersion":"v1","kind":"List","items":[${pods.join(',')}]}`
  const over = new AbortController()
  const refusals: string[] = []
  let asked = 0
  const running = (async () => {
    while (!over.signal.aborted) {
      await cluster
        .kubectl(['create', '-n', namespace, '--dry-run=server', '-f', '-'], list)
        .catch((error: unknown) => refusals.push(String(error)))
      asked += AT_ONCE
    }
  })()
  return {
    end: async () => {
      over.abort()
      await running
      return { asked, refusals }
    },
  }
}
