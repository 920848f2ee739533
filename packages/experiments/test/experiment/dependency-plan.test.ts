import { readPolicy } from '#rules'
import { expect, it } from 'vitest'
import { armedText } from '../../src/experiment/armed-rules.ts'
import { type ReadPlan, readPlan } from '../../src/experiment/read-plan.ts'
import { parseRules } from '../../../../src/rules/file/parse.ts'

const PLAN = {
  name: 'database-gone',
  target: { url: 'http://localhost:15300/mcp', environment: 'staging' },
  sidecar: { admin: 'http://127.0.0.1:15390', rulesFile: './rules.yaml' },
  steadyState: { errors: '1%' },
  dependency: { outbound: { host: 'db', port: 5432 } },
  load: { tools: ['search_docs'] },
  abortOn: { uptime: '99%' },
}

function read(changes: object, policyText?: object): Promise<ReadPlan> {
  const least = { targets: ['*'], environments: ['staging'], require: ['abortOn'] }
  const policy = policyText && readPolicy(JSON.stringify({ ...least, ...policyText }))
  if (policy?.ok === false) throw new Error(JSON.stringify(policy.problems))
  const readText = (): Promise<string> => Promise.reject(new Error('no further file'))
  const source = { file: 'plan.yaml', directory: '/', readText, policy: policy?.policy }
  return readPlan(JSON.stringify({ ...PLAN, ...changes }), source)
}

async function wrongs(changes: object, policy?: object): Promise<readonly string[]> {
  const found = await read(changes, policy)
  return found.ok
    ? found.rejections.map(({ wrong }) => wrong)
    : found.problems.flatMap(({ problems }) => problems.map(({ message }) => message))
}

it.each([
  [{}, { blackhole: true }],
  [{ blocked: 'refuse' }, { refuse: true }],
])(
  'a plan that blocks a dependency %j arms one rule for all its connections',
  async (how, fault) => {
    const found = await read({ dependency: { ...PLAN.dependency, ...how } })
    if (!found.ok) throw new Error(JSON.stringify(found.problems))
    expect(found.rejections).toEqual([])
    const { plan } = found
    expect(plan.stages).toEqual([{ label: 'blocked', share: 100 }])
    expect(plan.file.hold).toBe(60_000)
    const until = Date.UTC(2100, 0)
    const armed = parseRules(armedText(plan, 'id', plan.stages[0], until).text)
    if (!armed.ok) throw new Error(JSON.stringify(armed.problems))
    expect(armed.file.rules.at(-1)).toMatchObject({
      name: 'dependency-blocked',
      match: { outbound: { host: 'db', port: 5432 } },
      faults: [{ fault: 'connection', config: fault }],
      until,
    })
  },
)

it.each([
  [{ rules: [{ name: 'r', faults: ['hang'] }], stages: ['5%'] }, '`rules` and `dependency`'],
  [{ stages: ['5%'] }, 'stages require rules'],
  [{ dependency: {} }, '`outbound` is missing'],
  [{ dependency: { outbound: {} } }, ''],
  [{ dependency: { outbound: { port: 5432 }, blocked: 'reset' } }, 'blackhole'],
])('the plan with %j is rejected', async (changes, wanted) => {
  expect((await wrongs(changes)).join('\n')).toContain(wanted)
  expect((await read(changes)).ok).toBe(false)
})

it('a policy allows a blocked dependency when it allows all calls to fail', async () => {
  const all = { firstStage: '100%', maxPercent: '100%' }
  expect(await wrongs({}, all)).toEqual([])
  const wanted = 'a blocked dependency is a stage of 100%, and the policy allows 50%'
  expect(await wrongs({}, { ...all, maxPercent: '50%' })).toEqual([wanted])
  expect(await wrongs({}, { ...all, faults: ['delay'] })).toEqual([
    'the policy does not allow the fault "connection" in the rule "dependency-blocked"',
  ])
})
