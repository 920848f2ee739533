import { type Fields, foreign, instantText, parsedJson, textsOf } from '#base'
import { changeConfigMap } from './config-map-rules.ts'
import { type NewChaos, scopesOf } from './decide-budget.ts'
import type { KubeClient } from './kube-client.ts'
import { retryConflicts } from './kube-error.ts'
import { CONFIG_MAPS, type Limits } from './resources.ts'

/** The ConfigMap that has a key for each experiment of the last hour, beside the budget. */
export const EXPERIMENTS = 'squall-experiments'
const HOUR_MS = 3_600_000
const LIMITS = ['experiments', 'experimentsPerHour'] as const

/** An experiment that asks for its place among those that a budget limits. */
export interface CountedExperiment {
  readonly id: string
  readonly by: string
  /** The end of its claim; undefined for an experiment that only asks. */
  readonly until: number | undefined
  /** True while it renews its claim: it has begun, and is not denied. */
  readonly isRunning: boolean
}

type Entry = ReturnType<typeof entryOf>[number]

/**
 * Enters an experiment into the ConfigMap that counts them, where the budget limits their number;
 * returns why it may not begin. Of two that begin at once, the API server accepts the entry of one,
 * and the other counts again. An entry ends with the claim, also where nobody removes it.
 */
export async function enterExperiment(
  client: KubeClient,
  { budget, namespace: system }: { readonly budget: Fields; readonly namespace: string },
  chaos: NewChaos,
  { id, by, until, isRunning }: CountedExperiment,
  limits: Limits,
): Promise<string | undefined> {
  if (!scopesOf(budget, chaos).some(({ get }) => LIMITS.some(get))) return undefined
  const { namespace, now } = chaos
  const ref = { namespace: system, name: EXPERIMENTS }
  return retryConflicts(async () => {
    const found = await client.find({ kind: CONFIG_MAPS, ...ref }, limits)
    const texts = Object.entries(textsOf(found?.['data']))
    const entries = texts.flatMap(([key, text]) => entryOf(key, text))
    const known = entries.find((entry) => entry.id === id)
    const denial = known || isRunning ? undefined : decideExperiments(budget, entries, chaos)
    if (denial !== undefined || until === undefined) return denial
    const times = { at: instantText(known?.at ?? now), until: instantText(until) }
    const counting = entries.filter((each) => Math.max(each.at + HOUR_MS, each.until) > now)
    const kept = new Set(counting.map((each) => each.id))
    const old = texts.flatMap(([key]) => (kept.has(key) ? [] : [[key, null] as const]))
    const data = {
      ...Object.fromEntries(old),
      [id]: JSON.stringify({ namespace, by, ...times }),
    }
    await changeConfigMap(client, ref, found, { annotations: {}, data }, limits)
    return undefined
  })
}

/** Returns an experiment as the ConfigMap has it, with the time of its first write. */
function entryOf(id: string, text: string) {
  const { namespace, by, at, until } = textsOf(parsedJson(text))
  const [begin, end] = [Date.parse(at ?? ''), Date.parse(until ?? '')]
  if (!namespace || !by || Number.isNaN(begin + end)) return []
  return [{ id, namespace, by, at: begin, until: end }]
}

/** Returns why no further experiment may begin beside those that are known. */
function decideExperiments(
  budget: Fields,
  entries: readonly Entry[],
  chaos: NewChaos,
): string | undefined {
  for (const { get, suffix, author } of scopesOf(budget, chaos)) {
    for (const name of LIMITS) {
      const most = get(name)
      if (!most) continue
      const isPerHour = name === 'experimentsPerHour'
      const endOf = ({ at, until }: Entry): number => (isPerHour ? at + HOUR_MS : until)
      const counted = entries
        .filter((each) => endOf(each) > chaos.now)
        .filter(({ namespace }) => suffix === '' || namespace === chaos.namespace)
        .sort((one, other) => endOf(one) - endOf(other))
      if (counted.length < Number(most)) continue
      const [first] = counted.slice(counted.length - Number(most))
      const state = isPerHour ? 'began within an hour' : 'run'
      const owner = first && [first.id, first.by, first.namespace].map((text) => foreign(text))
      const such = first && `, such as ${owner?.join(' of ')}, until ${instantText(endOf(first))}`
      return `${name}${suffix} allows ${most}, and ${counted.length} ${state}${such ?? ''}${author(name)}`
    }
  }
  return undefined
}
