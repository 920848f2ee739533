// part: slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { readPlan } from '../../src/experiment/read-plan.ts'
import type { Step } from '../../../../test/support/wire.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { againAfterStall } from '../../../../test/support/stalls.ts'
import type { Changes, ExperimentStage } from './stage.ts'

let stage: ExperimentStage
/** The step of each second call during the stages. */
let step: Step

beforeEach(async () => {
  let inStages = false
  step = 'ok'
  stage = await startSquall({
    experiment: { script: (call) => (inStages && call % 2 === 0 ? step : 'ok') },
  })
  const own = stage
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase') inStages = event.stage !== undefined
  }
  stage = { ...own, run: (changes, options) => own.run(changes, { onEvent, ...options }) }
})

afterEach(() => stage.close())

const GATES = { abortOn: { errors: '100%' } }

test.each([
  ['tool error', ['rpc_error', 'timeout'], 'tool_error'],
  ['rpc error', ['tool_error'], 'rpc_error'],
  ['status 503', ['tool_error', 'connection_refused'], 'http_error'],
  ['reset', ['timeout'], 'reset'],
  ['no json', ['tool_error'], 'malformed'],
] as const)('a call that ends with %s is not one of %s', async (ending, errors, found) => {
  step = ending
  const result = await stage.run({ ...GATES, expect: { errors } })
  expect(result, result.why).toMatchObject({ verdict: 'failed', code: 'UNEXPECTED_ERROR' })
  expect(result.why).toMatch(
    new RegExp(`^calls failed with errors other than ${errors.join(', ')}: \\d+ with ${found}$`),
  )
})

test('expected and injected errors pass', async () => {
  step = 'rpc error'
  // The fault of the rule is a tool error.
  const result = await stage.run({ ...GATES, expect: { errors: ['rpc_error'] } })
  expect(result, result.why).toMatchObject({ verdict: 'passed', code: null })
  const origins = result.stages[0]!.load!.errors.map(({ kind, origin }) => `${kind} ${origin}`)
  expect(origins.sort()).toEqual(['rpc real', 'tool injected'])
})

const DELAYED = {
  rules: [{ name: 'slow', match: { tool: 'work' }, faults: [{ delay: { fixed: '3s' } }] }],
  hold: '8s',
}

test('a latency that reaches its value in the stage is observed', () =>
  againAfterStall(async () => {
    const result = await stage.run({ ...DELAYED, expect: { during: { p95: '2x', p99: '250ms' } } })
    expect(result, result.why).toMatchObject({ verdict: 'passed', code: null })
  }))

test('each condition that never passes is named', () =>
  againAfterStall(async () => {
    const health = { url: `${stage.squall.admin}/livez`, status: 503 }
    const during = { p50: '5s', p95: '2x', health }
    const result = await stage.run({ ...DELAYED, expect: { during } })
    expect(result, result.why).toMatchObject({ verdict: 'failed', code: 'NOT_OBSERVED' })
    expect(result.why).toMatch(
      /^never observed during the stage: p50 >=5s; health http.*\/livez status 503$/,
    )
  }))

const HOLDS = { rules: undefined, stages: undefined }

test('exhaust holds sessions in a stage of its own', async () => {
  const result = await stage.run({ ...HOLDS, exhaust: { sessions: 3 } })
  expect(result, result.why).toMatchObject({ verdict: 'passed', restored: true })
  expect(result.stages.map(({ label, share }) => [label, share])).toEqual([['exhaust', null]])
  const notes = result.facts.filter(({ kind }) => kind === 'note').map(({ text }) => text)
  expect(notes).toEqual(['3 of 3 sessions are open, 0 with a stream'])
})

async function problems(changes: Changes): Promise<readonly string[]> {
  const read = await readPlan(stage.text(changes), {
    file: 'plan.yaml',
    directory: '/nowhere',
    readText: () => Promise.reject(new Error('unread')),
  })
  return read.ok
    ? []
    : read.problems.flatMap(({ problems: all }) =>
        all.map((each) => `${each.path}: ${each.message}`),
      )
}

test.each<readonly [Changes, string]>([
  [{ expect: { errors: ['tool_eror'] } }, 'expect.errors[0]: '],
  [{ expect: { errors: [] } }, 'expect.errors: '],
  [{ expect: { during: {} } }, 'expect.during: needs `health` or `promql` or `p50` or'],
  [{ expect: { during: { p95: 5 } } }, 'expect.during.p95: must be a duration such as 500ms, or a'],
  [
    { expect: { during: { health: { url: 'localhost' } } } },
    'expect.during.health.url: must be a URL',
  ],
  [{ expect: { during: { uptime: '1%' } } }, 'expect.during.uptime: unknown key'],
  [{ ...HOLDS, exhaust: { sessions: 0 } }, 'exhaust.sessions: '],
  [{ ...HOLDS, exhaust: { sessions: 1001 } }, 'exhaust.sessions: '],
  [HOLDS, ': `rules`, `kill`, `exhaust` or `dependency` is missing'],
])('the plan with %j is rejected', async (changes, problem) => {
  const found = await problems(changes)
  expect(found).toEqual([expect.stringContaining(problem)])
})
