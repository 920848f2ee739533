// part: slow-nightly
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Proposals } from '../../src/mcp-server/proposals.ts'
import { BEFORE, type Changes, type ExperimentStage } from '../experiment/stage.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { type Agent, controlFlags, openAgent, phaseIn, propose } from './agent.ts'

/** Each injected error is an error of the load. */
const QUICK: Changes = {
  steadyState: { errors: '1%', for: '100ms' },
  hold: '500ms',
  load: { rate: 400, clients: 8 },
  abortOn: { errors: { limit: '99%', for: '10s' } },
}

let stage: ExperimentStage
const closing: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  stage = await startSquall({ experiment: {} })
})

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  await stage.close()
})

async function agentOf(policy: object = {}, approves?: boolean): Promise<Agent> {
  const agent = await openAgent({ server: await controlFlags(stage, policy), approves })
  closing.push(() => agent.close())
  return agent
}

const input = (changes: object = {}) => ({
  plan: stage.text(QUICK),
  vary: 'percent=1%..25%',
  until: 'errors>5%',
  ...changes,
})

it('a limit is found after one approval, with progress, and everything is rolled back', async () => {
  const agent = await agentOf({}, true)
  const { data, text } = await agent.call('find_limit', input({ maxRuns: 4 }))
  expect(agent.questions).toHaveLength(1)
  expect(agent.questions[0]).toContain('at most 25% of calls')
  expect(agent.questions[0]).toContain('Search: percent=1%..25%, until errors>5%')
  expect(data, text).toMatchObject({ status: 'done', where: 'within' })
  expect(data.points[0]).toMatchObject({ magnitude: 1, decision: 'passed' })
  expect(agent.progress.join('\n')).toContain('run 1: percent 1%')
  expect(await stage.rules()).toBe(BEFORE)
  const audit = await readFile(join(stage.directory, 'audit.jsonl'), 'utf8')
  expect(audit.split('\n').filter((line) => line.includes('"outcome":"started"'))).toHaveLength(1)
  expect(audit).toContain(data.search)
})

it('a boundary of two magnitudes is searched after one approval for both ranges', async () => {
  const agent = await agentOf({}, true)
  const rules = [
    {
      name: 'broken',
      match: { tool: 'work' },
      faults: [{ delay: { fixed: '1ms' } }, { abort: { toolError: 'no' } }],
    },
  ]
  const plan = stage.text({ ...QUICK, rules })
  const asked = input({ plan, second: 'delay=1ms..20ms', maxRuns: 3 })
  const { data, text } = await agent.call('find_limit', asked)
  expect(agent.questions).toHaveLength(1)
  expect(agent.questions[0]).toContain(
    'Search: percent=1%..25% and delay=1ms..20ms, until errors>5%; up to 3 runs',
  )
  const end = { code: 'BUDGET', why: 'maxRuns 3 is reached' }
  expect(data, text).toMatchObject({ status: 'done', limit: null, end })
  expect(data.points[0]).toMatchObject({ magnitude: 1, second: 1, decision: 'passed' })
  expect(data.boundary[0]).toMatchObject({ second: 1, where: 'within' })
  expect(data.boundary.at(-1).second).toBe(20)
  expect(text).toContain('delay.fixed 20ms: errors>5% was not true in any run')
  expect(await stage.rules()).toBe(BEFORE)
})

it('an approval at a terminal is for this search alone', async () => {
  const agent = await agentOf({ approval: 'terminal' }, true)
  const { data } = await agent.call('find_limit', input({ maxRuns: 1 }))
  expect(data).toMatchObject({
    status: 'approval_required',
    next: expect.stringContaining(`mcp approve ${data.id} --state-dir `),
  })
  const audit = await readFile(join(stage.directory, 'audit.jsonl'), 'utf8')
  expect(audit).toContain(`"outcome":"approval_required","proposal":"${data.id}"`)
  const { id } = data
  const proposals = new Proposals(join(stage.directory, 'state'))
  const { digest } = await proposals.approve(id, 'a person')
  const refused = async (name: string, args: object): Promise<string> => {
    const { isError, text } = await agent.call(name, { ...args })
    expect(isError).toBe(true)
    return text
  }
  expect(await refused('find_limit', input({ id, vary: 'percent=24%..25%' }))).toContain(
    'with id only',
  )
  expect(await refused('find_limit', { id, second: 'delay=1s..9s' })).toContain('with id only')
  expect(await refused('run_experiment', { id, digest })).toContain('is for find_limit')
  const single = await propose(agent, stage.text(QUICK))
  await proposals.approve(single.id, 'a person')
  expect(await refused('find_limit', { id: single.id })).toContain('is for run_experiment')
  expect(await phaseIn(stage)).toBeUndefined()
  // It can be used once, with what was proposed.
  const { data: done } = await agent.call('find_limit', { id })
  expect(done).toMatchObject({ status: 'done', points: [{ magnitude: 1 }] })
  expect(await refused('find_limit', { id })).toContain('was used for a run')
})

it('a policy that a person changes ends a search before its next run', async () => {
  const agent = await agentOf({ approval: 'none' })
  const search = agent.call('find_limit', input())
  await eventually(async () => ((await phaseIn(stage)) === 'on' ? undefined : 'not armed'))
  await controlFlags(stage, { approval: 'none', faults: ['delay'] })
  const { isError, text } = await search
  expect(isError, text).toBe(true)
  expect(text).toContain('does not allow the fault "abort"')
  expect(await stage.rules()).toBe(BEFORE)
})

interface Denied {
  readonly policy?: object
  readonly plan?: string
  readonly vary?: string
  readonly second?: unknown
  readonly until?: string
  readonly maxRuns?: number
}

it.each<[Denied, string]>([
  [{ vary: 'percent=1%..60%' }, 'above maxPercent'],
  [{ vary: 'percent=1..' }, 'percent'],
  [{ vary: 'delay=10ms..1s' }, 'no rule sets `fixed` on the fault delay'],
  [{ vary: 'delay=5s..50ms' }, 'begins with the stronger value'],
  [{ second: 'percent=1%..5%' }, 'percent is varied twice'],
  [{ second: 'delay=10ms..1s' }, 'no rule sets `fixed` on the fault delay'],
  [{ second: 'percent=1%..60%', vary: 'abort.status=500..503', plan: 'wide' }, 'above maxPercent'],
  [{ second: 'delay=1ms..\u001b[31m9' }, 'with different units'],
  [{ second: 'x'.repeat(201) }, 'second'],
  [{ second: ['delay=1ms..9ms'] }, 'second'],
  [{ second: 'abort.status=500..503', plan: 'wide', maxRuns: 81 }, 'maxRuns'],
  [{ vary: 'abort.status=500..503', plan: 'wide' }, 'above firstStage: 20%'],
  [{ maxRuns: 40, policy: { maxDuration: '2s' } }, 'use at most 4 runs'],
  [{ until: 'happiness<3' }, 'happiness'],
  [{ plan: 'name: [' }, 'plan.yaml:1'],
])(
  'a search outside the policy or without sense is denied: %j',
  async ({ policy, ...changes }: Denied, reason) => {
    const agent = await agentOf(policy, true)
    const rules = [
      { name: 'broken', match: { tool: 'work' }, faults: [{ abort: { status: 500 } }] },
    ]
    const wide = stage.text({ ...QUICK, rules, stages: ['10%', '25%'] })
    const plan = changes.plan === 'wide' ? { plan: wide } : {}
    const { isError, text } = await agent.call('find_limit', input({ ...changes, ...plan }))
    expect(isError, text).toBe(true)
    expect(text).toContain(reason)
    expect(agent.questions).toEqual([])
  },
)

it('a search that is cancelled is rolled back', async () => {
  const agent = await agentOf({ approval: 'none' })
  const cancelling = new AbortController()
  const plan = stage.text({ ...QUICK, hold: '1m' })
  const search = agent
    .call('find_limit', input({ plan }), cancelling.signal)
    .catch(() => 'cancelled')
  await eventually(async () => ((await phaseIn(stage)) === 'on' ? undefined : 'not armed'))
  cancelling.abort()
  expect(await search).toBe('cancelled')
  await eventually(async () => ((await stage.rules()) === BEFORE ? undefined : 'not restored'))
})
