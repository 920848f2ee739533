import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ExperimentEvent } from '../../src/experiment/context.ts'
import {
  experimentMarkdown,
  noteLines,
  writeReports,
} from '../../src/experiment/experiment-report.ts'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import type { Step } from '../../../../test/support/wire.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import type { Changes, ExperimentSetup, ExperimentStage } from './stage.ts'

let stage: ExperimentStage

beforeAll(async () => {
  stage = await startSquall({ experiment: {} })
})

afterAll(() => stage.close())

/** Starts a stage for an experiment of one test alone. */
async function ownStage(experiment: ExperimentSetup = {}): Promise<ExperimentStage> {
  const own = await startSquall({ experiment })
  onTestFinished(() => own.close())
  return own
}

/** Writes the reports of a result, and returns their texts. */
async function reports(result: ExperimentResult, changes: Changes = {}) {
  const kept = {
    file: 'plan.yaml',
    directory: stage.directory,
    text: stage.text(changes),
    files: {},
  }
  const directory = await writeReports(join(stage.directory, 'experiments'), result, kept)
  const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8')
  const html = await read('report.html')
  const [front = '', evidence = ''] = html.split('<h2>Evidence</h2>')
  return {
    front,
    evidence,
    markdown: await read('report.md'),
    json: JSON.parse(await read('report.json')) as ExperimentResult,
  }
}

test('a failed gate is named in words and numbers, with its cause and one advice', async () => {
  const changes = { stages: ['5%', '40%'], slo: { blast: '15%' }, abortOn: undefined }
  const result = await stage.run(changes)
  expect(result).toMatchObject({ verdict: 'failed', code: 'SLO', stage: '40%' })
  expect(result.summary).toMatch(
    /^Failed at 40 %: [\d.]+ % of tasks failed, the limit is 15 %\. The client does not retry work\.$/,
  )
  expect(result.advice).toMatch(/^Retry work with back-off/)
  // All forms of the report begin with the same sentence and advice.
  const { front, markdown, json } = await reports(result, changes)
  const shown = front.replaceAll('\u00a0', ' ')
  const lines = noteLines(result)
  expect(lines.slice(0, 2)).toEqual([result.summary, `Do next: ${result.advice}`])
  for (const text of [result.summary, result.advice]) expect(shown).toContain(text)
  expect(markdown).toContain(`- ${result.summary}\n- Do next: ${result.advice}\n`)
  expect(json).toMatchObject({ summary: result.summary, advice: result.advice })
  // The stage that passed is marked as such, and the gate is a line in each stage.
  expect(shown).toMatch(/>5 % <b class="good">✓<\/b><\/th><th scope="col">40 % <b class="bad">✗</)
  expect(front.match(/<path class="limit"/g)).toHaveLength(2)
  expect(shown).toMatch(/Tasks that failed, limit 15 %[^]*<b class="bad">[\d.]+ %<\/b>/)
})

test('an aborted stage says what the limit was, and that it was rolled back', async () => {
  const result = await stage.run({ hold: '20s', abortOn: { errors: '5%' } })
  expect(result.summary).toMatch(/^Failed at 20 %: [\d.]+ % of calls failed, the limit is 5 %\./)
  const { front, evidence } = await reports(result)
  expect(front).toMatch(/↩ rolled back in [\d.]+(&nbsp;|\u00a0| )m?s/)
  expect(front).toContain('recovered')
  expect(evidence).toMatch(/<b class="bad">Detected<\/b>.*a limit of the plan fails first, in 20%/)
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
  const { front, evidence } = await reports(result)
  expect(evidence).not.toContain('Detected')
  expect(front).not.toContain('✗')
})

test('retries that were not enough, real errors and slow tools are told apart', async () => {
  const delay = [{ name: 'slow', match: { tool: 'work' }, faults: [{ delay: { fixed: '200ms' } }] }]
  let ending: Step = 'ok'
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'phase' && event.stage !== undefined) ending = 'tool error'
    if (event.kind === 'rolled-back') ending = 'ok'
  }
  const unlike = { abortOn: undefined }
  const others = [await ownStage(), await ownStage({ script: () => ending })] as const
  // They mostly wait.
  const [retried, slow, real] = await Promise.all([
    stage.run({ ...unlike, stages: ['90%'], load: { retries: 1 }, slo: { success: '99%' } }),
    others[0].run({ ...unlike, rules: delay, slo: { p95: '100ms' } }),
    others[1].run({ ...unlike, slo: { errors: '5%' } }, { onEvent }),
  ])
  expect(retried.summary).toMatch(
    /^Failed at 90 %: [\d.]+ % of calls succeeded, the minimum is 99 %\. \d+ retries did not save \d+ of \d+ calls of work\.$/,
  )
  expect(slow.summary).toMatch(
    /^Failed at 20 %: p95 is [\d.]+ m?s, the limit is 100 ms\. p95 of work was [\d.]+ m?s, and [\d.]+ ms before the faults\.$/,
  )
  expect(real.summary).toMatch(/\d+ of the \d+ failed calls of work are real errors\.$/)
  expect(real.advice).toMatch(/^Fix the real errors of work first/)
})

test('an interrupted run has no verdict, and says what to do', async () => {
  const stop = new AbortController()
  const onEvent = (event: ExperimentEvent): void => {
    if (event.kind === 'moment' && (event.applied ?? 0) > 0) stop.abort()
  }
  const result = await stage.run({ hold: '20s' }, { stop: stop.signal, onEvent })
  expect(result.summary).toBe('Interrupted at 20 %: there is no verdict.')
  expect(result.advice).toBe('Run the plan to its end.')
})

test('verdicts about agents are shown for all stages together', async () => {
  const flags = ['--environment', 'staging', '--task-window', '1s']
  const own = await ownStage({ flags })
  const result = await own.run({ stages: ['10%', '30%'], hold: '1500ms' })
  const { evidence, json } = await reports(result)
  expect(json.stages.every(({ load }) => load?.agents !== undefined)).toBe(true)
  // A verdict may come in the stage after its fault, so none is shown as that of a stage.
  expect(evidence.match(/>What agents did next</g) ?? []).toHaveLength(1)
})
