import type { Fields } from '#base'
import { askPrometheus } from '#protocol'
import { type BudgetScope, type NewChaos, scopesOf } from './decide-budget.ts'

/** The time limit of each request for a budget: two of them are less than that of a review. */
export const BUDGET_TIMEOUT_MS = 1_500
const MAX_BYTES = 64 * 1024

/**
 * Asks Prometheus for the values that a budget limits; returns why no new chaos may begin. A value
 * that cannot be read allows nothing. No message has the address, or text of the response.
 */
export async function decideQueries(
  budget: Fields,
  chaos: NewChaos,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const scopes = scopesOf(budget, chaos)
  const denials = scopes.map((scope) => decideQuery(scope, scopes[1], signal))
  return (await Promise.all(denials)).find((each) => each !== undefined)
}

async function decideQuery(
  { get, suffix, author }: BudgetScope,
  cluster: BudgetScope,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const key = `query${suffix}`
  const query = get('query')
  const limits = (['above', 'below'] as const).filter((name) => get(name))
  if (!query) return limits.length > 0 ? `${limits[0]}${suffix} requires ${key}` : undefined
  if (limits.length === 0) return `${key} requires a number in above${suffix} or below${suffix}`
  const text = get('prometheus') || cluster.get('prometheus') || ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    return `${key} requires prometheus, a URL without credentials such as http://prometheus.monitoring:9090`
  }
  const value = await queryValue(url, query, signal)
  const isWithin = (name: 'above' | 'below'): boolean =>
    name === 'above' ? Number(value) > Number(get(name)) : Number(value) < Number(get(name))
  if (typeof value === 'number' && limits.every(isWithin)) return undefined
  const wanted = limits.map((name) => `${name} ${get(name)}`).join(' and ')
  return `closed until the value of ${key} is ${wanted}, now ${value}${author('query')}`
}

/** Returns the single value of a query, or why there is none. */
async function queryValue(
  base: URL,
  query: string,
  signal: AbortSignal | undefined,
): Promise<number | string> {
  const options = { signal, timeoutMs: BUDGET_TIMEOUT_MS, most: MAX_BYTES }
  try {
    const rows = await askPrometheus(base, query, options)
    if (rows.length !== 1) return `unknown, expected one series, got ${rows.length}`
    const { value } = rows[0]!
    return Number.isFinite(value) ? value : 'unknown, not a number'
  } catch (error) {
    signal?.throwIfAborted()
    return `unknown, ${(error as Error).message}`
  }
}
