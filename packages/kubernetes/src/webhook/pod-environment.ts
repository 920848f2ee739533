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
    const get = aged(now, read)
    return (namespace: string): Promise<Value> =>
      get(namespace).catch((error: unknown) => {
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
  return {
    budget: (namespace, wasSeen) => ask({ namespace, wasSeen }),
    temporaryFaults: aged(now, (namespace) =>
      ask({ namespace, wasSeen: false, of: 'temporaryFaults' }),
    ),
  }
}

/** Returns a function that caches what `ask` returns, limited by number and age. */
function aged<Value>(now: () => number, ask: (key: string) => Promise<Value>) {
  const entries = new Map<string, { readonly value: Promise<Value>; readonly at: number }>()
  return (key: string): Promise<Value> => {
    const known = entries.get(key)
    // Concurrent callers share one request.
    if (known !== undefined && now() - known.at < MAX_AGE_MS) return known.value
    const entry = { value: ask(key), at: now() }
    entries.delete(key)
    entries.set(key, entry)
    // Failures are not cached.
    entry.value.catch(() => {
      if (entries.get(key) === entry) entries.delete(key)
    })
    const oldest = entries.keys().next().value
    if (entries.size > MAX_NAMESPACES && oldest !== undefined) entries.delete(oldest)
    return entry.value
  }
}
