import type { LoadPace } from './load-options.ts'
import type { Shard } from './results/result.ts'

/** The part of a load that falls to one shard: the parts together are the whole. */
export function shardOf(pace: LoadPace, shard: Shard | undefined): LoadPace {
  if (shard === undefined) return pace
  const { index, count } = shard
  const part = (whole: number): number =>
    Math.floor(whole / count) + (index < whole % count ? 1 : 0)
  return {
    ...pace,
    // A shard without a client could make no call at all.
    clients: Math.max(1, part(pace.clients)),
    maxInFlight: Math.max(1, part(pace.maxInFlight)),
    hold: part(pace.hold),
    ...(pace.rate !== undefined && { rate: pace.rate / count }),
    ...(pace.tasks !== undefined && { tasks: part(pace.tasks) }),
  }
}
