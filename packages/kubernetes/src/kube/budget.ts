import type { Fields } from '#base'
import type { KubeClient } from './kube-client.ts'
import { decideBudget, type NewChaos } from './decide-budget.ts'
import { asKubeError } from './kube-error.ts'
import { CONFIG_MAPS, type Limits, metadataOf } from './resources.ts'

/** The ConfigMap that limits new chaos in the cluster. */
export const BUDGET = 'squall-budget'
export const SYSTEM_NAMESPACE = 'squall-system'
/** Less than the shortest time limit of a review. */
const TIMEOUT_MS = 1_500

/** Where the budget is, and whether chaos needs one. */
export interface BudgetOptions {
  readonly systemNamespace: string
  /** Without a readable budget, nothing new begins. */
  readonly requireBudget: boolean
}

/** Returns the options of programs that have no flags for them. */
export function budgetOf(env: Readonly<Record<string, string | undefined>>): BudgetOptions {
  return {
    systemNamespace: env['SQUALL_SYSTEM_NAMESPACE'] ?? SYSTEM_NAMESPACE,
    requireBudget: env['SQUALL_REQUIRE_BUDGET'] === 'true',
  }
}

/** The decision about new chaos. */
export interface BudgetDecision {
  /** The reason why nothing new may begin. */
  readonly denial: string | undefined
  /** False where there is none, or it could not be read. */
  readonly isThere: boolean
}

/**
 * Asks the budget of the cluster whether new chaos may begin. Where it cannot be read, nothing may
 * that requires a budget, or where one was seen before.
 */
export async function askBudget(
  client: KubeClient,
  { systemNamespace: namespace, requireBudget }: BudgetOptions,
  chaos: Omit<NewChaos, 'now'> & { readonly wasSeen: boolean },
  { signal }: Limits,
): Promise<BudgetDecision> {
  const where = `the ConfigMap ${BUDGET} in ${namespace}`
  const denied = (why: string) => `no new chaos in ${chaos.namespace}, by ${where}: ${why}`
  try {
    const ref = { kind: CONFIG_MAPS, namespace, name: BUDGET }
    const found = await client.find(ref, { signal, timeoutMs: TIMEOUT_MS })
    if (found === undefined) {
      const denial = requireBudget ? denied('it does not exist, but is required') : undefined
      return { denial, isThere: false }
    }
    const why = decideBudget(found, { ...chaos, now: client.now() })
    return { denial: why === undefined ? undefined : denied(why), isThere: true }
  } catch (error) {
    const { message } = asKubeError(error)
    if (signal?.aborted) throw error
    const isSafe = !requireBudget && !chaos.wasSeen
    return { denial: isSafe ? undefined : denied(message), isThere: false }
  }
}

/** Returns true for a ConfigMap whose rules were written while there was a budget. */
export function sawBudget(configMap: Fields | undefined, prefix: string): boolean {
  return metadataOf(configMap ?? {}).annotations[budgetAnnotation(prefix)] !== undefined
}

/** The annotation of rules that were written while there was a budget. */
export function budgetAnnotation(prefix: string): string {
  return `${prefix}budget`
}
