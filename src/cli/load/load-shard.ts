import { quoted } from '../../base/text/foreign-text.ts'
import type { Shard } from '../../lab/load/results/result.ts'
import type { Environment, Given } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'

const FORM = 'write index/count, such as 0/4, or /4 where JOB_COMPLETION_INDEX is set'
const MAX_SHARDS = 10_000

/** The part of the load that is run here. In an indexed Job of Kubernetes `/4` takes its index. */
export function parseShard(given: Given | undefined, env: Environment): Shard | undefined {
  if (given === undefined) return undefined
  const { text, source } = given
  const match = /^(\d{0,5})\/(\d{1,5})$/.exec(text)
  const index = match?.[1] === '' ? (env['JOB_COMPLETION_INDEX'] ?? '') : match?.[1]
  if (match === null || index === undefined || !/^\d{1,5}$/.test(index)) {
    throw new UsageError('BAD_VALUE', `${source}: ${quoted(text)} is no shard`, FORM)
  }
  const shard = { index: Number(index), count: Number(match[2]) }
  if (shard.count >= 1 && shard.count <= MAX_SHARDS && shard.index < shard.count) return shard
  throw new UsageError(
    'BAD_VALUE',
    `${source}: there is no shard ${shard.index} of ${shard.count}`,
    'the first index is 0, and the last one is one less than the count',
  )
}
