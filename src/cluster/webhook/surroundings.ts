import type { NamespaceFacts, ServicePorts } from '../injector/injection.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { listServices } from '../kube/bypassed-pods.ts'
import { metadataOf, NAMESPACES } from '../kube/resources.ts'
import { AgedCache } from './aged-cache.ts'
import { DecideError, NO_SURROUNDINGS, type Surroundings } from './decide.ts'

/** Configures what is read from the cluster, and how. */
export interface SurroundingsOptions {
  readonly client: KubeClient
  readonly readNamespaces: boolean
  readonly readServices: boolean
  readonly now: () => number
  /** The age up to which a response is reused. */
  readonly maxAgeMs?: number
}

/** Below the five seconds that an API server waits for a webhook. */
const TIMEOUT_MS = 2_500
const MAX_AGE_MS = 10_000
const MAX_NAMESPACES = 1_000

/** Asks the API server, and remembers its responses for a moment. */
export function readSurroundings(options: SurroundingsOptions): Surroundings {
  const { client, readNamespaces, readServices, now, maxAgeMs = MAX_AGE_MS } = options
  const namespaces = new AgedCache<NamespaceFacts>(maxAgeMs, MAX_NAMESPACES, now)
  const services = new AgedCache<readonly ServicePorts[]>(maxAgeMs, MAX_NAMESPACES, now)
  const limits = { timeoutMs: TIMEOUT_MS }
  return {
    namespace: (name) => {
      if (!readNamespaces) return NO_SURROUNDINGS.namespace(name)
      return namespaces
        .get(name, async () => {
          const found = await client.get({ kind: NAMESPACES, name }, limits)
          const { labels, annotations } = metadataOf(found)
          return { name, labels, annotations }
        })
        .catch((error: unknown) => {
          throw unreadable('namespace_unreadable', error)
        })
    },
    services: (namespace) => {
      if (!readServices) return NO_SURROUNDINGS.services(namespace)
      return services
        .get(namespace, () => listServices(client, namespace, limits))
        .catch((error: unknown) => {
          throw unreadable('services_unreadable', error)
        })
    },
  }
}

function unreadable(reason: string, error: unknown): DecideError {
  return new DecideError(reason, `the webhook ${(error as Error).message}`, error)
}
