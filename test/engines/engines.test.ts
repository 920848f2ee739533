import { expect, test } from 'vitest'
import { seedOfRun } from '../support/random.ts'
import { Campaign } from './campaign.ts'
import { resultText } from './report.ts'
import { rounds } from '../support/rounds.ts'

const EXCHANGES = rounds(60, 200)
const WORKERS = 16

test(
  'both engines do the same, to the byte, whatever clients and apps say',
  { timeout: 60_000 },
  async () => {
    const seed = seedOfRun()
    const block = process.env['SQUALL_ENGINES_BLOCK']
    const result = await Campaign.run({
      engines: ['standard', 'fast'],
      seed,
      exchanges: EXCHANGES,
      workers: WORKERS,
      block: block === undefined ? undefined : Number(block),
    })
    expect(result.differing, resultText(seed, result)).toBe(0)
  },
)
