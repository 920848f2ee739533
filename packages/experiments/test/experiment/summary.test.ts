// part: slow
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import { experimentMarkdown, noteLines } from '../../src/experiment/experiment-report.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import type { ExperimentStage } from './stage.ts'
import { reports } from './written-reports.ts'

let stage: ExperimentStage

beforeAll(async () => {
  // Without the guard: a machine that is busy makes errors of its own, and all tests share the stage.
  const flags = ['--environment', 'staging', '--guard-error-rate', 'off']
  stage = await startSquall({ experiment: { flags } })
})

afterAll(() => stage.close())

test('a failed gate is named in words and numbers, with its cause and one advice', async () => {
  const changes = { stages: ['5%', '40%'], slo: { blast: '15%' }, abortOn: undefined }
  const result = await stage.run(changes)
  expect(result).toMatchObject({ verdict: 'failed', code: 'SLO', stage: '40%' })
  expect(result.summary).toMatch(
    /^Failed at 40 %: [\d.]+ % of tasks failed, the limit is 15 %\. The client does not retry work\.$/,
  )
  expect(result.advice).toMatch(/^Retry work with back-off/)
  // All forms of the report begin with the same sentence and advice.
  const { front, markdown, json } = await reports(stage, result, changes)
  const shown = front.replaceAll('\u00a0', ' ')
  const lines = noteLines(result)
  expect(lines.slice(0, 2)).toEqual([result.summary, `Next step: ${result.advice}`])
  for (const text of [result.summary, result.advice]) expect(shown).toContain(text)
  expect(markdown).toContain(`- ${result.summary}\n- Next step: ${result.advice}\n`)
  expect(json).toMatchObject({ summary: result.summary, advice: result.advice })
  // The stage that passed is marked as such, and the gate is a line in each stage.
  expect(shown).toMatch(/>5 % <b class="good">✓<\/b><\/th><th scope="col">40 % <b class="bad">✗</)
  expect(front.match(/<path class="limit"/g)).toHaveLength(2)
  expect(shown).toMatch(/Tasks that failed, limit 15 %[^]*<b class="bad">[\d.]+ %<\/b>/)
})

test('an aborted stage says what the limit was, and that it was rolled back', async () => {
  const result = await stage.run({ hold: '20s', abortOn: { errors: '5%' } })
  expect(result.summary).toMatch(/^Failed at 20 %: [\d.]+ % of calls failed, the limit is 5 %\./)
  const { front, evidence } = await reports(stage, result)
  expect(front).toMatch(/↩ rolled back in [\d.]+(&nbsp;|\u00a0| )m?s/)
  expect(front).toContain('recovered')
  expect(evidence).toMatch(
    /<b class="bad">Detected<\/b>.*first failure of a limit of the plan, in 20%/,
  )
})

test('a run that passed shows the tightest limit, and detects nothing', async () => {
  const result = await stage.run({
    load: { retries: 10 },
    abortOn: undefined,
    slo: { blast: '60%' },
  })
  expect(result.verdict, result.why).toBe('passed')
  expect(result.summary).toMatch(
    /^Passed the stage 20 %: 0 % of tasks failed, the limit is 60 %\. Retries hid \d+ of \d+ injected errors\.$/,
  )
  expect(result.facts.map(({ kind }) => kind)).not.toContain('detection')
  expect(`${noteLines(result).join()}${experimentMarkdown(result)}`).not.toContain('Detected')
  const { front, evidence } = await reports(stage, result)
  expect(evidence).not.toContain('Detected')
  expect(front).not.toContain('✗')
})

test('an interrupted run has no verdict, and says what to do', async () => {
  const stop = new AbortController()
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'moment' && (event.applied ?? 0) > 0) stop.abort()
  }
  const result = await stage.run({ hold: '20s' }, { stop: stop.signal, onEvent })
  expect(result.summary).toBe('Interrupted at 20 %: no verdict.')
  expect(result.advice).toBe('Run the plan to its end.')
})
