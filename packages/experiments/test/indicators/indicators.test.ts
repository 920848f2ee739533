import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  binomialBounds,
  predictedBlastRadius,
  indicatorsOf,
} from '../../src/indicators/indicators.ts'
import { type IndicatorCounts, noCounts, sumCounts } from '../../src/indicators/indicators.ts'

const part = (whole: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: whole })

/** Counts that a run can have: each is part of what it is a share of. */
const counts = fc.record({ calls: part(1e6), tasks: part(1e6), retries: part(1e6) }).chain((all) =>
  part(all.calls).chain((responded) =>
    fc.record({
      ...given({ ...all, responded }),
      schemaOk: part(responded),
      usable: part(responded),
      inTime: part(all.calls),
      failedTasks: part(all.tasks),
      degradedTasks: part(all.tasks),
      hitTasks: part(all.tasks),
      silentFailures: part(all.tasks),
      safeFailures: part(all.tasks),
      correct: part(responded),
      success: part(responded),
    }),
  ),
)

function given<T extends object>(values: T): { [Name in keyof T]: fc.Arbitrary<T[Name]> } {
  const entries = Object.entries(values).map(([name, value]) => [name, fc.constant(value)])
  return Object.fromEntries(entries) as { [Name in keyof T]: fc.Arbitrary<T[Name]> }
}

test('shares lie between nothing and everything, and ETA is both of its factors', () => {
  fc.assert(
    fc.property(counts, (each) => {
      const { tcaf, retriesPerTask, ...shares } = indicatorsOf(each)
      for (const [name, share] of Object.entries(shares)) {
        if (share === null) continue
        expect(share, name).toBeGreaterThanOrEqual(0)
        expect(share, name).toBeLessThanOrEqual(1)
      }
      expect(tcaf === null || tcaf >= 0).toBe(true)
      expect(retriesPerTask === null || retriesPerTask >= 0).toBe(true)
      // The factors multiply to what remains of them: correct / calls.
      if (shares.eta !== null) expect(shares.eta).toBeCloseTo(each.correct / each.calls, 9)
      expect(shares.availability).toBe(shares.etaResponded)
      expect(shares.correctness).toBe(shares.etaUsable)
    }),
  )
})

test('one more success never makes an indicator worse', () => {
  fc.assert(
    fc.property(counts, (each) => {
      const more: IndicatorCounts = {
        ...each,
        calls: each.calls + 1,
        responded: each.responded + 1,
        schemaOk: each.schemaOk + 1,
        usable: each.usable + 1,
        correct: each.correct + 1,
        inTime: each.inTime + 1,
        success: each.success + 1,
      }
      const before = indicatorsOf(each)
      const after = indicatorsOf(more)
      for (const name of ['tcsr', 'eta', 'etaResponded', 'scr', 'deadlineAdherence'] as const) {
        expect(after[name]! + 1e-12).toBeGreaterThanOrEqual(before[name] ?? 0)
      }
    }),
  )
})

test('the indicators of a sum lie between those of its parts', () => {
  fc.assert(
    fc.property(counts, counts, (a, b) => {
      const [one, other, sum] = [a, b, sumCounts(a, b)].map(indicatorsOf)
      for (const name of ['tcsr', 'scr', 'blastRadius'] as const) {
        const parts = [one![name], other![name]].filter((share) => share !== null)
        if (parts.length < 2) continue
        expect(sum![name]! + 1e-12).toBeGreaterThanOrEqual(Math.min(...parts))
        expect(sum![name]! - 1e-12).toBeLessThanOrEqual(Math.max(...parts))
      }
    }),
  )
})

test('where nothing was counted nothing is claimed', () => {
  expect(Object.values(indicatorsOf(noCounts())).every((value) => value === null)).toBe(true)
})

test('calls of which none was answered had no tools', () => {
  const { eta, etaUsable, tcsr } = indicatorsOf({ ...noCounts(), calls: 5, tasks: 5 })
  expect({ eta, etaUsable, tcsr }).toEqual({ eta: 0, etaUsable: null, tcsr: 0 })
})

test('two percent of eight calls is fifteen percent of tasks', () => {
  expect(predictedBlastRadius(0.02, 8)).toBeCloseTo(0.1492, 4)
  expect(predictedBlastRadius(0, 8)).toBe(0)
  expect(predictedBlastRadius(1, 8)).toBe(1)
  expect(predictedBlastRadius(0.3, 1)).toBeCloseTo(0.3, 12)
})

test('the bounds of a share are what counting allows, and never leave what a share can be', () => {
  const { low, high } = binomialBounds(0.5, 100, 2)
  expect([low, high]).toEqual([0.4, 0.6])
  expect(binomialBounds(0.001, 10, 4).low).toBe(0)
  expect(binomialBounds(0.999, 10, 4).high).toBe(1)
})
