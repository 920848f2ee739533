import type { KubeClient } from '../kube/kube-client.ts'
import { listServices } from '../kube/bypassed-pods.ts'
import { askBudget, type AskedChaos } from '../kube/budget.ts'
import { NAMESPACES, metadataOf } from '../kube/resources.ts'
import {
  DecideError,
  type DecideParts,
  NO_POD_ENVIRONMENT,
  type PodEnvironment,
} from './decide-pod.ts'

/** Below the five seconds that an API server waits for a webhook. */
const TIMEOUT_MS = 2_500
const MAX_AGE_MS = 10_000
const MAX_NAMESPACES = 1_000

/** Reads facts from the API server, and caches them for seconds. */
export function readPodEnvironment(
  client: KubeClient,
  reads: { readonly readNamespaces: boolean; readonly readServices: boolean },
  now: () => number,
): PodEnvironment {
  const limits = { timeoutMs: TIMEOUT_MS }
  const cached = <Value>(reason: string, read: (namespace: string) => Promise<Value>) => {
    const cache = new AgedCache<Value>(now)
    return (namespace: string): Promise<Value> =>
      cache
        .get(namespace, () => read(namespace))
        .catch((error: unknown) => {
          throw new DecideError(reason, `the webhook ${(error as Error).message}`, error)
        })
  }
  const namespace = cached('namespace_unreadable', async (name) => {
    const { labels, annotations } = metadataOf(await client.get({ kind: NAMESPACES, name }, limits))
    return { name, labels, annotations }
  })
  const services = cached('services_unreadable', (name) => listServices(client, name, limits))
  return {
    namespace: reads.readNamespaces ? namespace : NO_POD_ENVIRONMENT.namespace,
    services: reads.readServices ? services : NO_POD_ENVIRONMENT.services,
  }
}

/** The budget that rules obey; by default in the namespace of the webhook. */
export interface WebhookBudget {
  readonly requireBudget: boolean
  readonly systemNamespace?: string | undefined
}

/**
 * Asks the budget at each review of rules, and for each namespace of new pods; once it was there, an
 * unreadable one allows nothing.
 */
export function readBudget(
  client: KubeClient,
  options: {
    readonly budget?: WebhookBudget | undefined
    readonly settings: { readonly prefix: string }
  },
  now: () => number,
): Pick<DecideParts, 'budget' | 'temporaryFaults'> {
  if (options.budget === undefined) return {}
  const { requireBudget, systemNamespace = client.namespace } = options.budget
  const { prefix } = options.settings
  const budget = { systemNamespace, requireBudget }
  let isSeen = false
  const ask = async (asked: Pick<AskedChaos, 'namespace' | 'wasSeen' | 'of'>) => {
    const wasSeen = isSeen || asked.wasSeen
    const { denial, isThere } = await askBudget(client, budget, { ...asked, prefix, wasSeen }, {})
    isSeen ||= isThere
    return denial
  }
  const cache = new AgedCache<string | undefined>(now)
  return {
    budget: (namespace, wasSeen) => ask({ namespace, wasSeen }),
    temporaryFaults: (namespace) =>
      cache.get(namespace, () => ask({ namespace, wasSeen: false, of: 'temporaryFaults' })),
  }
}

/** Caches values, limited by number and age. */
class AgedCache<Value> {
  readonly #now: () => number
  readonly #entries = new Map<string, { readonly value: Promise<Value>; readonly at: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the cached value, or else requests it; concurrent callers share one request. */
  get(key: string, ask: () => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key)
    if (known !== undefined && this.#now() - known.at < MAX_AGE_MS) return known.value
    const entry = { value: ask(), at: this.#now() }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    // Failures are not cached.
    entry.value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    const oldest = this.#entries.keys().next().value
    if (this.#entries.size > MAX_NAMESPACES && oldest !== undefined) this.#entries.delete(oldest)
    return entry.value
  }
}
