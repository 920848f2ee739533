import { expect, test } from 'vitest'
import { readPlan } from '../../src/experiment/read-plan.ts'

const KUBERNETES = { namespace: 'shop', deployment: 'mcp-server' }

const PLAN = {
  name: 'pods',
  target: { url: 'http://127.0.0.1:8080/mcp', environment: 'staging' },
  steadyState: { errors: '1%' },
  rules: [{ name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] }],
  stages: ['20%'],
  abortOn: { errors: '90%' },
}

async function read(changes: object): Promise<unknown> {
  const source = { file: 'plan.yaml', directory: '/', readText: () => Promise.reject(new Error()) }
  const found = await readPlan(JSON.stringify({ ...PLAN, ...changes }), source)
  if (found.ok) {
    return { sidecar: found.plan.sidecar, rejections: found.rejections.map(({ wrong }) => wrong) }
  }
  return found.problems.flatMap(({ problems }) => problems.map(({ message }) => message))
}

test('a plan for pods names them by Deployment or labels', async () => {
  const rules = { configMap: 'squall-rules', key: 'rules.yaml' }
  const pods = { kind: 'pods', namespace: 'shop', ...rules, min: 90 }
  expect(await read({ sidecar: { kubernetes: KUBERNETES }, kill: { pod: 2 } })).toEqual({
    sidecar: {
      ...pods,
      deployment: 'mcp-server',
      kills: { pod: 2, force: false },
      expiryMs: 30_000,
    },
    rejections: [],
  })
  const kubernetes = { namespace: 'shop', selector: { app: 'shop' }, context: 'kind' }
  expect(await read({ sidecar: { kubernetes } })).toMatchObject({
    sidecar: { ...pods, selector: { app: 'shop' }, context: 'kind' },
  })
})

test.each([
  ['both', { ...KUBERNETES, selector: { app: 'shop' } }],
  ['none', { namespace: 'shop' }],
])('either a Deployment or labels: %s', async (_, kubernetes) => {
  expect(await read({ sidecar: { kubernetes } })).toEqual([
    'needs either `deployment` or `selector`',
  ])
})

test('keys of a local sidecar and of pods are mutually exclusive, all at once', async () => {
  const sidecar = { kubernetes: KUBERNETES, admin: 'http://127.0.0.1:1', rulesFile: 'rules.yaml' }
  expect(await read({ sidecar, kill: { pidFile: 'a', command: 'b' } })).toEqual([
    '`admin` requires a sidecar without `kubernetes`',
    '`rulesFile` requires a sidecar without `kubernetes`',
    '`pod` is missing',
    '`pidFile` requires a sidecar without `sidecar.kubernetes`',
    '`command` requires a sidecar without `sidecar.kubernetes`',
  ])
  const steadyState = { errors: '1%', ready: 2 }
  expect(await read({ sidecar: {}, kill: { pod: 1 }, steadyState })).toEqual([
    '`ready` requires pods, with `sidecar.kubernetes`',
    '`admin` is missing',
    '`rulesFile` is missing',
    '`pidFile` is missing',
    '`command` is missing',
    '`pod` requires pods, with `sidecar.kubernetes`',
  ])
})

test('a namespace of production is rejected without a request', async () => {
  const kubernetes = { ...KUBERNETES, namespace: 'shop-prod' }
  expect(await read({ sidecar: { kubernetes } })).toMatchObject({
    rejections: ['the namespace "shop-prod" counts as production (it matches prod*)'],
  })
})

test('a single container is no victim, and the message says so', async () => {
  const plan = { sidecar: { kubernetes: KUBERNETES }, kill: { container: 'server' } }
  const source = { file: 'plan.yaml', directory: '/', readText: () => Promise.reject(new Error()) }
  const found = await readPlan(JSON.stringify({ ...PLAN, ...plan }), source)
  const problems = found.ok ? [] : found.problems.flatMap((each) => each.problems)
  expect(problems).toMatchObject([
    {
      code: 'unknown_key',
      path: 'kill.container',
      hint: 'a container cannot be killed alone; `pod: 1` deletes its pod',
    },
  ])
})
