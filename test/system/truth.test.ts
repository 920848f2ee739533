// part: campaigns
import { test } from 'vitest'
import { tellsTheTruth } from '../truth/truth.ts'
import { seedOfRun } from '../support/random.ts'

/** `SQUALL_TRUTH_CALLS` says how many calls; alone on two cores 100 000 take half a minute. */
test('of 100 000 calls, metrics, the log, the wire, the clients and the upstream agree', async () => {
  const seed = seedOfRun()
  process.stderr.write(`SQUALL_TEST_SEED=${seed}\n`)
  await tellsTheTruth(Number(process.env['SQUALL_TRUTH_CALLS'] ?? 100_000), seed)
}, 600_000)
