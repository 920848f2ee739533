// part: slow
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readAsked } from '../../src/operations/read-plans.ts'
import { readAndKeep } from '../../src/experiment/read-plan.ts'
import { experimentMarkdown, writeReports } from '../../src/experiment/experiment-report.ts'
import { addToHistory } from '../../src/experiment/history.ts'
import { NO_NAMES } from '../../../../src/rules/guard/production-names.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const FLAGS = ['--environment', 'staging']

function noFile(): Promise<string> {
  return Promise.reject(new Error('no file is named'))
}

test('each run draws a seed, which `again` repeats, and compares its samples', async () => {
  const stage = await startSquall({ experiment: { flags: FLAGS } })
  onTestFinished(() => stage.close())
  const asked = { seed: undefined }
  const result = await stage.run(asked)
  const other = await stage.plan(asked)
  expect(other.seed).not.toBe(result.seed)
  // The digest is that of what is written, so that runs with drawn seeds are compared.
  expect(other.digest).toBe(result.planDigest)
  const armed = stage.squall.logs.filter(({ msg, seed }) => msg === 'active rules' && seed !== 0)
  expect(new Set(armed.map(({ seed }) => seed))).toEqual(new Set([result.seed]))

  const experiments = join(stage.directory, 'experiments')
  const { kept } = await readAndKeep(join(stage.directory, 'plan.yaml'), stage.text(asked), noFile)
  await writeReports(experiments, result, kept)
  await addToHistory(experiments, result)
  const plan = { kind: 'again', id: result.id } as const
  const { read } = await readAsked({ plan, experiments, production: NO_NAMES, policy: undefined })
  expect(read.ok && read.plan.seed).toBe(result.seed)
  expect(read.ok && read.plan.digest).toBe(result.planDigest)

  const [{ considered, expected, chance }] = result.stages as [(typeof result.stages)[0]]
  expect(expected).toBeCloseTo(considered! / 5)
  expect(chance).toBeGreaterThan(0.001)
  const text = experimentMarkdown(result)
  expect(text).toMatch(/\| sampled \| expected \| calls \| injected \|/)
})

test('a share that chance does not explain is inconclusive', async () => {
  const stage = await startSquall({ experiment: { flags: [...FLAGS, '--max-percent', '1'] } })
  onTestFinished(() => stage.close())
  const result = await stage.run({ seed: 1, hold: '2s', load: { rate: 150 } })
  expect(result).toMatchObject({ verdict: 'inconclusive', code: 'IMPROBABLE_SHARE' })
  expect(result.why).toContain('--max-percent')
  expect(result.stages[0]!.expected).toBeGreaterThan(20)
})
