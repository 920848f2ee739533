// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { call, callMessage } from '../../../../test/support/wire.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import type { ExperimentStage } from './stage.ts'

const CONDITION = 'real-errors>20% for 1s'
const FLAGS = ['--environment', 'staging', '--guard-error-rate', 'off', '--rollback-on', CONDITION]
let stage: ExperimentStage
let isBroken: boolean

beforeEach(async () => {
  isBroken = false
  const script = () => (isBroken ? 'status 503' : 'ok')
  stage = await startSquall({ experiment: { flags: FLAGS, script } })
})

afterEach(() => stage.close())

test('a condition of the sidecar ends an experiment, whatever its plan tolerates', async () => {
  const { arming } = stage.squall.running.rules!
  const result = await stage.run(
    {
      hold: '30s',
      stages: ['10%'],
      steadyState: { within: '1s' },
      abortOn: { errors: undefined, p50: '1m' },
    },
    { onEvent: (event) => (isBroken ||= event.kind === 'phase' && event.stage !== undefined) },
  )
  expect(result).toMatchObject({
    verdict: 'failed',
    code: 'GUARD',
    why: expect.stringContaining(CONDITION),
  })
  expect(arming.has('rollback-on')).toBe(true)
})

test('it disarms also after SIGKILL of the experiment', async () => {
  const { squall, directory } = stage
  const rules = squall.running.rules!
  const { arming } = rules
  const plan = join(directory, 'plan.yaml')
  await writeFile(plan, stage.text({ hold: '1m', sidecar: { expiry: '1m' } }))
  const kept = ['--experiments', join(directory, 'kept'), '--state-dir', join(directory, 'state')]
  const program = startProgram(['experiment', 'run', plan, ...kept])
  await eventually(() => (rules.ruleSet.rules.length === 1 ? undefined : program.stderr()))
  program.signal('SIGKILL')
  await program.ended
  expect(arming.armed).toBe(true)
  isBroken = true
  let id = 0
  const begin = performance.now()
  while (arming.armed && performance.now() - begin < 10_000) {
    await call({ port: squall.port }, callMessage(++id, 'work'))
  }
  expect(performance.now() - begin).toBeGreaterThanOrEqual(1000)
  expect(arming.reasons).toMatchObject([{ by: 'rollback-on' }])
})
