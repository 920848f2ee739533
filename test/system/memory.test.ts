// part: memory
import { expect, test } from 'vitest'
import { fuzzMemory } from './memory-fuzz.ts'
import { Random, seedOfRun } from '../support/random.ts'
import { INJECTED_LIMIT } from '../support/wire/sidecar-process.ts'

const SECONDS = Number(process.env['SQUALL_MEMORY_SECONDS'] ?? 600)

test.each(['fast', 'standard'])(
  'hostile traffic neither ends nor stalls a sidecar that has the memory that injection gives it: %s',
  async (engine) => {
    const seed = seedOfRun()
    console.log(`SQUALL_TEST_SEED=${seed}`)
    const result = await fuzzMemory(new Random(seed), SECONDS, 12, engine)
    console.log(JSON.stringify(result))
    expect(result.died).toBeUndefined()
    expect(result.peak).toBeLessThan(INJECTED_LIMIT)
    expect(result.longestTurn).toBeGreaterThan(0)
    // The limits of docs/guides/operations.md, and room for a machine that is slower or busy.
    expect(result.longestTurn).toBeLessThanOrEqual(1.5 * 100)
    expect(result.p99).toBeLessThanOrEqual(1.5 * 100)
    expect(result.slowest).toBeLessThan(1_000)
    expect(result.left).toBe('squall_memory_held_bytes 0')
  },
  SECONDS * 1000 + 60_000,
)
