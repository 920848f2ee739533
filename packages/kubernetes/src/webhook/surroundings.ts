import type { NamespaceFacts, ServicePorts } from '../injector/injection.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { listServices } from '../kube/bypassed-pods.ts'
import { NAMESPACES, metadataOf } from '../kube/resources.ts'
import { DecideError, NO_SURROUNDINGS, type Surroundings } from './decide.ts'

/** Configures which facts are read from the cluster. */
interface SurroundingsOptions {
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

/** Reads facts from the API server, and caches them for seconds. */
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

/** Caches values, limited by number and age. */
export class AgedCache<Value> {
  readonly #maxAgeMs: number
  readonly #most: number
  readonly #now: () => number
  readonly #entries = new Map<string, { readonly value: Promise<Value>; readonly at: number }>()

  constructor(maxAgeMs: number, most: number, now: () => number) {
    this.#maxAgeMs = maxAgeMs
    this.#most = most
    this.#now = now
  }

  /** Returns the cached value, or else requests it; concurrent callers share one request. */
  get(key: string, ask: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key)
    if (known !== undefined && this.#now() - known.at < this.#maxAgeMs) return known.value
    const entry = { value: ask(), at: this.#now() }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    // Failures are not cached.
    entry.value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    const oldest = this.#entries.keys().next().value
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest)
    return entry.value
  }
}
