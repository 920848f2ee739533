import { expect, it } from 'vitest'
import { Random } from '../support/random.ts'
import { Coverage } from './engine/coverage.ts'
import { Fuzzer } from './engine/fuzzer.ts'
import type { Target } from './targets/target.ts'

it('lets what an input left for later ticks happen before long', async () => {
  let left = 0
  let mostLeft = 0
  let runs = 0
  const target: Target = {
    name: 'leaves',
    maxLength: 10,
    seeds: ['a'],
    tokens: ['b'],
    run: () => {
      runs++
      mostLeft = Math.max(mostLeft, ++left)
      process.nextTick(() => left--)
      return { kind: 'any', compared: true }
    },
  }
  const coverage = new Coverage([])
  const fuzzer = new Fuzzer(target, coverage, new Random(1))
  await fuzzer.begin(target.seeds)
  const finding = await fuzzer.run(() => runs < 1_000)
  coverage.close()
  expect(finding).toBeUndefined()
  expect(runs).toBeGreaterThanOrEqual(1_000)
  expect(mostLeft).toBeLessThan(200)
})
