// part: slow
import { expect, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import type { Step } from '../../../../test/support/wire.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { againAfterStall } from '../../../../test/support/stalls.ts'
import { reports } from './written-reports.ts'

/** A machine that is busy makes errors of its own. */
const UNGUARDED = ['--environment', 'staging', '--guard-error-rate', 'off']

test('retries that were not enough, real errors and slow tools are told apart', () =>
  againAfterStall(async (open) => {
    let ending: Step = 'ok'
    const experiment = { script: () => ending, flags: UNGUARDED }
    const stage = open(await startSquall({ experiment }))
    const retried = await stage.run({
      stages: ['90%'],
      load: { retries: 1 },
      abortOn: undefined,
      slo: { success: '99%' },
    })
    expect(retried.summary).toMatch(
      /^Failed at 90 %: [\d.]+ % of calls succeeded, the minimum is 99 %\. \d+ retries did not save \d+ of \d+ calls of work\.$/,
    )
    const delay = [
      { name: 'slow', match: { tool: 'work' }, faults: [{ delay: { fixed: '200ms' } }] },
    ]
    const slow = await stage.run({ rules: delay, abortOn: undefined, slo: { p95: '100ms' } })
    expect(slow.summary).toMatch(
      /^Failed at 20 %: p95 is [\d.]+ m?s, the limit is 100 ms\. The slowest tool is work; it was [\d.]+ m?s before the faults\.$/,
    )
    const onEvent = (event: ExperimentEvent): void => {
      if (event.kind === 'phase' && event.stage !== undefined) ending = 'tool error'
      if (event.kind === 'rolled-back') ending = 'ok'
    }
    const real = await stage.run({ slo: { errors: '5%' }, abortOn: undefined }, { onEvent })
    expect(real.summary).toMatch(/\d+ of the \d+ failed calls of work are real errors\.$/)
    expect(real.advice).toMatch(/^Fix the real errors of work first/)
  }))

test('verdicts about agents are shown for all stages together', () =>
  againAfterStall(async (open) => {
    const flags = [...UNGUARDED, '--task-window', '1s']
    const stage = open(await startSquall({ experiment: { flags } }))
    const result = await stage.run({ stages: ['10%', '30%'], hold: '1500ms' })
    const { evidence, json } = await reports(stage, result)
    expect(json.stages.every(({ load }) => load?.agents !== undefined)).toBe(true)
    // A verdict may come in the stage after its fault, so none is shown as that of a stage.
    expect(evidence.match(/>What agents did next</g) ?? []).toHaveLength(1)
  }))
