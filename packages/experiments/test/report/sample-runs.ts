import { openStage } from '../../src/demo/stage.ts'
import type { LoadResult } from '../../src/load/results/result.ts'
import { parseSlo } from '../../src/load/results/slo.ts'
import { load } from '../load/load-run.ts'

const RULES = `version: 1
seed: 42
rules:
  - name: two-percent
    match: { tool: '*' }
    percent: 2
    faults: [abort: { toolError: connection to db-7 lost }]
  - name: slow-search
    match: { tool: 'search_*' }
    percent: 20
    faults: [delay: { fixed: 40ms, jitter: 10ms }]
  - name: cut
    match: { tool: summarize }
    percent: 3
    faults: [reset: {}]
`
const GATES = ['p99<2s', 'success>99%', 'blast<5%'].map(parseSlo)

/** Results of real loads through Squall in front of an upstream with failures of its own. */
export interface SampleRuns {
  readonly plain: LoadResult
  readonly retried: LoadResult
}

/** Runs both loads for some time each. */
export async function sampleRuns(durationMs: number): Promise<SampleRuns> {
  const stage = await openStage('0.0.0')
  try {
    await stage.edit(RULES)
    stage.server.failing = true
    const asked = {
      url: stage.target.url,
      work: { fanOut: 8 },
      pace: { clients: 4, rate: 200, durationMs },
      checks: { slo: GATES },
    }
    const plain = await load(asked)
    const resilience = { retries: 2, retryBudget: 0.2, degrade: 2 }
    const retried = await load({ ...asked, resilience })
    return { plain, retried }
  } finally {
    await stage.close()
  }
}
