import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { BEFORE, type Changes, type ExperimentStage } from '../../lab/experiment/stage.ts'
import { eventually } from '../../support/eventually.ts'
import { startSquall } from '../../support/squall.ts'
import { type Agent, controlFlags, openAgent, phaseIn } from './agent.ts'

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

it('an approval at a terminal is for this search alone', async () => {
  const agent = await agentOf({ approval: 'terminal' }, true)
  const { data } = await agent.call('find_limit', input())
  expect(data).toMatchObject({ status: 'approval_required', next: `squall approve ${data.id}` })
  const file = join(stage.directory, 'state', 'proposals', `${data.id}.json`)
  const { digest } = JSON.parse(await readFile(file, 'utf8')) as { digest: string }
  const { Proposals } = await import('../../../src/cli/mcp/proposals.ts')
  await new Proposals(join(stage.directory, 'state')).approve(data.id, 'a person')
  const wider = await agent.call('find_limit', input({ id: data.id, vary: 'percent=1%..40%' }))
  expect(wider).toMatchObject({
    isError: true,
    text: expect.stringContaining('the approval is for another search'),
  })
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
  expect(await phaseIn(stage)).toBeUndefined()
})

it.each([
  [{ vary: 'percent=1%..60%' }, 'above maxPercent'],
  [{ vary: 'percent=1..' }, 'percent'],
  [{ vary: 'delay=10ms..1s' }, 'no rule has the fault delay'],
  [{ until: 'happiness<3' }, 'happiness'],
  [{ plan: 'name: [' }, 'plan.yaml:1'],
])('a search outside the policy or without sense is denied: %j', async (changes, reason) => {
  const agent = await agentOf({}, true)
  const { isError, text } = await agent.call('find_limit', input(changes))
  expect(isError, text).toBe(true)
  expect(text).toContain(reason)
  expect(agent.questions).toEqual([])
})

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
