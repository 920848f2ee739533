// part: slow
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startProgram } from '../../../../test/support/commands.ts'
import { podsStage, type PodsStage } from './pods-stage.ts'
import { ACCOUNT, inCluster, leftIn, planFile, type PlayedJobs, playJobs } from './played-job.ts'

const RULES = [
  { name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] },
]

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

function at(...names: readonly string[]): string {
  return join(stage.shop.directory, ...names)
}

test('a Job runs the plan with its files, and the reports are written here', async () => {
  const before = stage.configMap()
  await writeFile(at('rules.yaml'), JSON.stringify({ version: 1, rules: RULES }))
  const plan = await planFile(stage, { rules: '../rules.yaml' })
  const { code, stdout, stderr } = await startProgram(inCluster(stage, plan)).finished()
  expect(stdout, stderr).toContain('Passed the stage 20 %')
  expect(code).toBe(0)
  // The pods have squall:0.0.0-sidecar, which knows no experiment.
  expect(stderr).toMatch(/runs as job squall-experiment-[0-9a-f]{8} in shop, with squall:0\.0\.0$/m)
  expect(stderr).toMatch(/stage 1 of 1: 20%, 1\.5 s\n[^]*rolled back\n/)
  const listed = await startProgram(
    ['experiment', 'list', '--json', '--experiments', at('experiments')],
    {},
    { here: true },
  )
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'pods', verdict: 'passed' }])
  expect(stage.configMap()).toEqual(before)
  const [job] = played.jobs
  expect(job?.spec.template.spec.serviceAccountName).toBe('squall-experiment')
  const template = job?.spec.template.spec.containers[0]
  expect(template?.args.slice(0, 3)).toEqual(['experiment', 'run', '/plan/plans/plan.yaml'])
})

test('a Job requires the budget where this command does, in the same namespace', async () => {
  const before = stage.configMap()
  const plan = await planFile(stage)
  const env = { SQUALL_SYSTEM_NAMESPACE: 'platform', SQUALL_REQUIRE_BUDGET: 'true' }
  const { code, stdout } = await startProgram(inCluster(stage, plan, '--json'), env).finished()
  expect(code).toBe(1)
  expect(stdout).toContain('the ConfigMap squall-budget in platform denies new chaos in shop')
  const [job] = played.jobs
  expect(job?.spec.template.spec.containers[0]?.env).toEqual(
    expect.arrayContaining(Object.entries(env).map(([name, value]) => ({ name, value }))),
  )
  expect(stage.configMap()).toEqual(before)
})

test('the limit of a policy on runs per hour holds for Jobs, too', async () => {
  const plan = await planFile(stage, { stages: ['10%'] })
  const { target } = JSON.parse(stage.text()) as { target: { url: string } }
  const policy = { targets: [target.url], environments: ['staging'], require: ['abortOn'] }
  await writeFile(at('policy.yaml'), JSON.stringify({ ...policy, perHour: 1 }))
  const startedAt = new Date().toISOString()
  const id = '20260101-000000-abcdef'
  const past = { id, name: 'pods', startedAt, verdict: 'passed', planDigest: 'a', seed: 1 }
  await mkdir(at('experiments'))
  const line = JSON.stringify({ ...past, target: target.url })
  await writeFile(at('experiments', 'history.jsonl'), `${line}\n`)
  const { code, stdout } = await startProgram(
    inCluster(stage, plan, '--policy', at('policy.yaml'), '--json'),
    {},
    { here: true },
  )
  expect(JSON.parse(stdout)).toMatchObject({ rejected: [{ code: 'POLICY' }] })
  expect(code).toBe(1)
  expect(played.jobs).toEqual([])
})

test.each([
  [
    'without its service account',
    () => void stage.shop.api.store.delete(ACCOUNT),
    {},
    [],
    'service account squall-experiment not found in namespace shop; add shop to experiments.namespaces of the chart',
  ],
  [
    'with an absolute path',
    () => writeFile(at('rules.yaml'), JSON.stringify({ version: 1, rules: RULES })),
    () => ({ rules: at('rules.yaml') }),
    [],
    'rules.yaml, which is not a path relative to the plan; use relative paths',
  ],
  [
    'with a context',
    () => undefined,
    { sidecar: { kubernetes: { context: 'test', namespace: 'shop', selector: { app: 'shop' } } } },
    [],
    'omit sidecar.kubernetes.context',
  ],
  [
    'for a sidecar of this machine',
    () => undefined,
    { sidecar: { admin: 'http://127.0.0.1:1', rulesFile: 'rules.yaml' } },
    [],
    'is for a sidecar of this machine; name pods with sidecar.kubernetes',
  ],
  [
    'with headers',
    () => undefined,
    {},
    ['--header', 'authorization=secret'],
    '--in-cluster cannot pass headers or tokens',
  ],
])('a run %s is rejected before anything is created', async (_, prepare, changes, args, wrong) => {
  await prepare()
  const plan = await planFile(stage, typeof changes === 'function' ? changes() : changes)
  const { code, stderr } = await startProgram(inCluster(stage, plan, ...args), {}, { here: true })
  expect(stderr).toContain(wrong)
  expect(code).toBe(2)
  expect(played.jobs).toEqual([])
  expect(leftIn(stage)).toEqual([])
})
