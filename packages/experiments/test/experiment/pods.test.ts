// part: slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { during, podsStage, type PodsStage, reached } from './pods-stage.ts'

let stage: PodsStage
let atServer: number

beforeEach(async () => {
  stage = await podsStage()
})

afterEach(() => stage.close())

/** Notes the calls at the server before the last phase, whose last calls are cut. */
function noteCalls(event: ExperimentEvent): void {
  if (event.kind === 'rolled-back') atServer = stage.server.calls.length
}

test('stages arm all pods, counts are added, and the ConfigMap is restored byte for byte', async () => {
  const before = stage.configMap()
  let meanwhile: Promise<readonly string[]> | undefined
  const onEvent = during('25%', () => {
    const target = { url: 'http://127.0.0.1:9/mcp', environment: 'staging' }
    meanwhile = stage.rejected({ target })
  })
  const result = await stage.run(
    { stages: ['20%', '25%'] },
    {
      onEvent: (event) => {
        onEvent(event)
        noteCalls(event)
      },
    },
  )
  expect(result).toMatchObject({ verdict: 'passed', code: null, restored: true, steadyAfter: true })
  for (const { applied, sampled, matched } of result.stages) {
    expect(applied).toBeGreaterThan(0)
    expect(applied).toBe(sampled)
    expect(matched).toBeGreaterThan(sampled)
  }
  expect(atServer).toBe(reached(result))
  expect(stage.configMap()).toEqual(before)
  expect((await meanwhile)?.join('\n')).toMatch(
    /EXPERIMENT_RUNNING: the experiment \S+ of tester has claimed the ConfigMap until/,
  )
})

test('a stage that ends early has the counts of the sidecars', async () => {
  const end = { code: 'SLO', why: 'enough calls' } as const
  const { code, stages } = await stage.run({ hold: '10s' }, { endEarly: () => end })
  expect(code).toBe('SLO')
  expect(stages[0]!.matched).toBeGreaterThan(0)
})

test('a freeze of the cluster rejects an experiment, which changes nothing', async () => {
  const before = stage.configMap()
  const path = '/api/v1/namespaces/squall-system/configmaps/squall-budget'
  stage.shop.api.put(path, { data: { freeze: 'true', by: 'sre' } })
  expect((await stage.rejected()).join('\n')).toMatch(
    /OVER_BUDGET: the ConfigMap squall-budget.* denies new chaos in shop: .*; set by sre/,
  )
  expect(stage.configMap()).toEqual(before)
})

test.each([
  ['before its next stage', { stages: ['20%', '25%'] }],
  ['when it renews its rules', { hold: '20s' }],
])('an experiment that meets a freeze %s ends, and restores the rules', async (_, changes) => {
  const before = stage.configMap()
  const path = '/api/v1/namespaces/squall-system/configmaps/squall-budget'
  const onEvent = during('20%', () =>
    stage.shop.api.put(path, { data: { freeze: 'true', by: 'sre' } }),
  )
  const result = await stage.run(changes, { onEvent })
  expect(result).toMatchObject({ code: 'NOT_ACTIVE', restored: true })
  expect(result.why).toContain('set by sre')
  expect(result.stages).toHaveLength(1)
  expect(stage.configMap()).toEqual(before)
})
