// part: slow-nightly
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../../../src/base/seeded-random.ts'
import {
  type Measurement,
  measurementOf,
} from '../../../packages/experiments/src/simulate/measured.ts'
import type { Predicted } from '../../../packages/experiments/src/simulate/interval.ts'
import { type Quantity, simulate } from '../../../packages/experiments/src/simulate/simulate.ts'
import type {
  Changes,
  ExperimentStage,
} from '../../../packages/experiments/test/experiment/stage.ts'
import { startSquall } from '../../support/commands.ts'
import { againAfterStall } from '../../support/stalls.ts'

let stage: ExperimentStage
let measurement: Measurement

/** Each call takes 2 to 20 ms, and one in 50 fails by itself. */
const random = seededRandom(7, 'server')

const TOOLS = ['work', 'rest']

const USUAL: Changes = {
  steadyState: { errors: '20%', for: '300ms' },
  hold: '2500ms',
  load: { rate: 80, clients: 20, tools: TOOLS, timeout: '1500ms' },
  abortOn: { errors: { limit: '99%', for: '20s' } },
}

beforeAll(async () => {
  const script = async () => {
    const ends = random() < 0.02 ? 'tool error' : 'ok'
    await sleep(2 + 18 * random() ** 2)
    return ends
  }
  stage = await startSquall({ experiment: { script } })
  const calm = { ...USUAL, steadyState: { errors: '20%', for: '5s' }, hold: '100ms' }
  await againAfterStall(async () => {
    const { before } = await stage.run(calm)
    const { counts } = before.load!
    expect(counts.failedTasks / counts.tasks).toBeLessThan(0.1)
    measurement = measurementOf('calm', before.load!, TOOLS)
  })
})

afterAll(() => stage.close())

const fault = (each: object, tool = '*'): object => ({
  name: `fault-${tool.replace('*', 'all')}`,
  match: { tool },
  faults: [each],
})
const ERROR = { abort: { toolError: 'no' } }
const STATUS = { abort: { status: 503 } }
const LATE = { delay: { fixed: '5s' } }
const SLOW = { delay: { uniform: { min: '50ms', max: '300ms' } } }

const PLANS: readonly Changes[] = [
  { rules: [fault(ERROR)] },
  { rules: [fault(STATUS)], load: { retries: 2 } },
  { rules: [fault(ERROR, 'work')], load: { fanOut: 3 } },
  { rules: [fault(LATE)] },
  { rules: [fault(LATE, 'rest')], load: { retries: 1, fanOut: 2 } },
  { rules: [fault(SLOW)] },
  { rules: [fault({ hang: {} })], load: { retries: 1, fanOut: 2, degrade: 1 } },
  { rules: [fault({ reset: {} })], load: { retries: 3, retryBudget: '10%' } },
  { rules: [fault({ rateLimit: { limit: { calls: 15, per: '1s' } } })], stages: ['50%'] },
  { rules: [fault(SLOW, 'work'), fault(STATUS, 'rest')], load: { retries: 2, fanOut: 4 } },
]

/**
 * The bounds of chance, where 1 is the distance from the prediction to the end of its interval of
 * 95 %: about six standard deviations of a value, and four of the mean of all plans.
 */
const FURTHEST = 3
const FURTHEST_MEAN = 0.65

test('real experiments lie around their predictions', async () => {
  const all: Shifts[] = []
  for (const [i, changes] of PLANS.entries()) {
    await againAfterStall(async () => {
      const shifts = await compared(changes, i + 1)
      for (const [name, { shift, text }] of Object.entries(shifts)) {
        expect(Math.abs(shift), `${name} of plan ${i}: ${text}`).toBeLessThanOrEqual(FURTHEST)
      }
      all.push(shifts)
    })
  }
  for (const name of COMPARED) {
    const each = all.map((shifts) => shifts[name].shift)
    const mean = each.reduce((sum, shift) => sum + shift, 0) / each.length
    expect(Math.abs(mean), `${name}: ${each.join(', ')}`).toBeLessThanOrEqual(FURTHEST_MEAN)
  }
}, 300_000)

const COMPARED = ['touched', 'failed', 'injected', 'retries'] as const satisfies Quantity[]
type Shifts = Record<(typeof COMPARED)[number], { readonly shift: number; readonly text: string }>

/** Runs a plan, and returns how far its values are from those predicted. */
async function compared(changes: Changes, seed: number): Promise<Shifts> {
  const load = { ...(USUAL['load'] as object), ...(changes['load'] as object | undefined) }
  const whole = { ...USUAL, ...changes, load, seed }
  const { stages, verdict, why } = await stage.run(whole)
  const [real] = stages
  expect(real?.load, `${verdict}: ${why}`).toBeDefined()
  const { counts } = real!.load!
  const measured = {
    touched: counts.hitTasks / counts.tasks,
    failed: counts.failedTasks / counts.tasks,
    injected: real!.applied,
    retries: counts.retries,
  }
  const simulated = await simulate({
    plan: await stage.plan(whole),
    measurements: [measurement],
    pods: 1,
    tasks: undefined,
    seed,
    stop: new AbortController().signal,
    onProgress: () => {},
  })
  const { predicted } = simulated!.stages[0]!
  const shifts = COMPARED.map((name) => [name, shiftOf(measured[name], predicted[name]!)])
  return Object.fromEntries(shifts) as Shifts
}

function shiftOf(measured: number, { value, low, high }: Predicted): Shifts['touched'] {
  const [above, below] = [high - value, value - low]
  const half = measured > value ? above || below : below || above
  return {
    shift: measured === value ? 0 : (measured - value) / half,
    text: `${measured}, predicted ${value} (${low} to ${high})`,
  }
}
