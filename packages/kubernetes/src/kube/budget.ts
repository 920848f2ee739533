import type { Fields } from '#base'
import type { KubeClient } from './kube-client.ts'
import { decideBudget, decideTemporaryFaults, type NewChaos } from './decide-budget.ts'
import { BUDGET_TIMEOUT_MS, decideQueries } from './error-budget.ts'
import { type CountedExperiment, enterExperiment } from './experiment-limits.ts'
import { asKubeError } from './kube-error.ts'
import { CONFIG_MAPS, type Limits, metadataOf } from './resources.ts'

/** The ConfigMap that limits new chaos in the cluster. */
export const BUDGET = 'squall-budget'
export const SYSTEM_NAMESPACE = 'squall-system'

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

/** New chaos in a namespace; `wasSeen` where there was a budget before. */
export interface AskedChaos extends Omit<NewChaos, 'now'> {
  readonly wasSeen: boolean
  /** An experiment that begins or goes on, or the faults that a new pod may take on its admin port. */
  readonly of?: CountedExperiment | 'temporaryFaults'
}

/**
 * Asks the budget of the cluster whether new chaos may begin: returns the reason why not, and whether
 * there is a budget that could be read. Where it cannot be read, nothing may
 * that requires a budget, or where one was seen before.
 */
export async function askBudget(
  client: KubeClient,
  { systemNamespace: namespace, requireBudget }: BudgetOptions,
  { of, wasSeen, ...asked }: AskedChaos,
  { signal }: Limits,
) {
  const limits = { signal, timeoutMs: BUDGET_TIMEOUT_MS }
  const where = `the ConfigMap ${BUDGET} in ${namespace}`
  const denied = (why: string) => `${where} denies new chaos in ${asked.namespace}: ${why}`
  let isThere = false
  try {
    const budget = await client.find({ kind: CONFIG_MAPS, namespace, name: BUDGET }, limits)
    if (budget === undefined) {
      const denial = requireBudget ? denied('it does not exist, but is required') : undefined
      return { denial, isThere }
    }
    isThere = true
    const chaos = { ...asked, now: client.now() }
    const why =
      of === 'temporaryFaults'
        ? decideTemporaryFaults(budget, chaos)
        : (decideBudget(budget, chaos) ??
          (await decideQueries(budget, chaos, signal)) ??
          (of && (await enterExperiment(client, { budget, namespace }, chaos, of, limits))))
    return { denial: why === undefined ? undefined : denied(why), isThere }
  } catch (error) {
    const { message } = asKubeError(error)
    if (signal?.aborted) throw error
    const isSafe = !isThere && !requireBudget && !wasSeen
    return { denial: isSafe ? undefined : denied(message), isThere }
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
