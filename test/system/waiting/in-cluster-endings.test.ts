// part: slow-nightly
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExperimentResult } from '../../../packages/experiments/src/experiment/experiment-result.ts'
import { eventually } from '../../support/eventually.ts'
import { type Program, startProgram } from '../../support/commands.ts'
import {
  CONFIG_MAP,
  podsStage,
  type PodsStage,
} from '../../../packages/experiments/test/experiment/pods-stage.ts'
import {
  ACCOUNT,
  inCluster,
  leftIn,
  planFile,
  type PlayedJobs,
  playJobs,
} from '../../../packages/experiments/test/experiment/played-job.ts'

let stage: PodsStage
let played: PlayedJobs

beforeEach(async () => {
  stage = await podsStage()
  stage.shop.api.put(ACCOUNT, {})
  played = playJobs(stage)
})

afterEach(async () => {
  await played.close()
  await stage.close()
})

function run(plan: string, ...args: readonly string[]): Program {
  return startProgram(inCluster(stage, plan, ...args))
}

test('a Job that rejects the plan is reported as the plan is here', async () => {
  const plan = await planFile(stage, { steadyState: { p50: '0.001ms', for: '300ms' } })
  const { code, stdout } = await run(plan, '--json').finished()
  expect(JSON.parse(stdout)).toMatchObject({ rejected: [{ code: 'NOT_STEADY' }] })
  expect(code).toBe(1)
})

test('Ctrl-C deletes the Job, and prints what its runner reports after the rollback', async () => {
  const before = stage.configMap()
  const program = run(await planFile(stage, { hold: '1m' }), '--json')
  await eventually(() =>
    stage.shop.rules()['rules.yaml']?.includes('"percent": 20') ? undefined : program.stderr(),
  )
  program.signal('SIGINT')
  const { code, stdout, stderr } = await program.finished()
  const result = JSON.parse(stdout) as ExperimentResult
  expect(result, stderr).toMatchObject({ code: 'INTERRUPTED', restored: true })
  expect(code).toBe(130)
  expect(stage.configMap()).toEqual(before)
  expect(
    leftIn(stage).filter((path) => path.includes('configmaps') || path.includes('jobs')),
  ).toEqual([])
})

test('the waiting of the pod is shown, and Ctrl-C ends it', async () => {
  const program = run(await planFile(stage), '--image', 'absent')
  await eventually(() =>
    program.stderr().includes('ImagePullBackOff: no such image') ? undefined : program.stderr(),
  )
  program.signal('SIGINT')
  const { code, stdout } = await program.finished()
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  expect(stage.shop.api.store.has(CONFIG_MAP)).toBe(true)
})

test('a runner that ends without a result is reported with its exit code', async () => {
  const program = run(await planFile(stage, { hold: '1m' }))
  await eventually(() => (played.started.length > 0 ? undefined : program.stderr()))
  played.started[0]!.signal('SIGKILL')
  const { code, stderr } = await program.finished()
  expect(stderr).toContain('the job ended without a result (End, exit code null)')
  expect(code).toBe(1)
})

test('a Job whose pod is deleted is reported at once', async () => {
  const program = run(await planFile(stage, { hold: '1m' }))
  await eventually(() => (program.stderr().includes('stage 1 of 1') ? undefined : program.stderr()))
  const { name } = played.jobs[0]!.metadata
  stage.shop.api.store.delete(`/api/v1/namespaces/shop/pods/${name}-1`)
  const { code, stderr } = await program.finished()
  expect(stderr).toContain('the pod of the job was deleted while it ran')
  expect(code).toBe(1)
})
