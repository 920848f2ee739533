import { expect, test } from 'vitest'
import { Steadiness } from '../../src/experiment/gate.ts'

const SAMPLES: readonly (readonly [at: number, failed: boolean])[] = [
  [0, true],
  [1000, false],
  [2000, true],
  [3000, true],
  [4000, false],
  [6000, false],
]

/** Records samples, with an injection before the first one at or after each of some times. */
function recorded(samples: typeof SAMPLES, ...injections: readonly number[]): Steadiness {
  const steadiness = new Steadiness()
  const open = [...injections]
  for (const [at, failed] of samples) {
    while (open.length > 0 && open[0]! <= at) steadiness.injected(open.shift()!)
    steadiness.add(at, failed)
  }
  for (const at of open) steadiness.injected(at)
  return steadiness
}

test('a failure is detected and recovered from after an injection', () => {
  const once = recorded(SAMPLES, 500)
  const recovered = { injectedAt: 500, detectedAt: 2000, recoveredAt: 4000 }
  expect(once.recovery(0)).toEqual(recovered)
  expect(once.recovery(2000)).toEqual(recovered)
  const detected = { injectedAt: 500, detectedAt: 2000, recoveredAt: undefined }
  expect(once.recovery(2001)).toEqual(detected)
  expect(recorded(SAMPLES, 3500).recovery(0)).toEqual({})
  expect(recorded(SAMPLES.slice(0, 4), 500).recovery(0)).toEqual(detected)
  expect(recorded(SAMPLES).recovery(0)).toEqual({})
})

test('the injection is the start of the stage in which a gate first failed', () => {
  expect(recorded(SAMPLES, 500, 1500).recovery(2000)).toMatchObject({ injectedAt: 1500 })
  expect(recorded(SAMPLES, 500, 2500).recovery(2000)).toMatchObject({ injectedAt: 500 })
})

test('the time without a failure counts from the last one, or from a later moment', () => {
  const once = recorded(SAMPLES, 500)
  expect(once.steadyForMs(0)).toBe(2000)
  expect(once.steadyForMs(5000)).toBe(0)
  expect(once.steadyForMs(Infinity)).toBe(0)
  expect(recorded(SAMPLES.slice(0, 4), 500).steadyForMs(0)).toBe(0)
})
