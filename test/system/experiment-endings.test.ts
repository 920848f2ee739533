// part: experiments
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../packages/experiments/src/experiment/context.ts'
import type { ExperimentStage } from '../../packages/experiments/test/experiment/stage.ts'
import type { Step } from '../support/wire.ts'
import { startSquall } from '../support/commands.ts'

let stage: ExperimentStage
let ending: Step = 'ok'

beforeEach(async () => {
  ending = 'ok'
  stage = await startSquall({ experiment: { script: () => ending } })
})

afterEach(() => stage.close())

test('calls that end by their timeout fail no gate after the end of a stage', async () => {
  const rules = [{ name: 'mute', match: { tool: 'work' }, times: 3, faults: ['hang'] }]
  const load = { timeout: '8s' }
  const result = await stage.run({ rules, load, abortOn: { errors: '50%', p50: '6s' } })
  expect(result.verdict).toBe('passed')
  expect(result.stages[0]!.applied).toBe(3)
})

test('calls that never end fail a latency gate', async () => {
  const rules = [{ name: 'mute', match: { tool: 'work' }, first: 1000, faults: ['hang'] }]
  const load = { rate: undefined, clients: 1, timeout: '1m' }
  const asked = { rules, load, hold: '20s', abortOn: { p95: '1200ms' } }
  const result = await stage.run(asked)
  expect(result).toMatchObject({ verdict: 'failed', code: 'ABORT_CONDITION' })
})

test('the guard of the sidecar ends the experiment, and renewals do not arm it again', async () => {
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase' && event.stage !== undefined) ending = 'tool error'
    if (event.kind === 'rolled-back') ending = 'ok'
  }
  const abortOn = { errors: { limit: '90%', for: '1h' } }
  const asked = { hold: '20s', sidecar: { expiry: '1s' }, abortOn }
  const result = await stage.run(asked, { onEvent })
  expect(result).toMatchObject({ verdict: 'failed', code: 'GUARD' })
})

test('rules that another program writes during a stage are kept', async () => {
  const theirs = '# mine\nrules: []\n'
  let written: Promise<void> | undefined
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase' && event.stage !== undefined) {
      written ??= writeFile(stage.rulesFile, theirs)
    }
  }
  const result = await stage.run({ hold: '20s' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'RULES_CHANGED', restored: false })
  expect(await stage.rules()).toBe(theirs)
})
