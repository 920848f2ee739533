// part: slow
import { mkdir, readFile, rmdir, unlink } from 'node:fs/promises'
import { beforeEach, expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { type Agent, phaseIn, propose } from './agent.ts'
import { agentOf, approveInTerminal, at, eachOnStage, inTerminal, stage } from './on-stage.ts'

let agent: Agent

eachOnStage()
beforeEach(async () => {
  agent = await agentOf()
})

const proposed = (changes = {}) => propose(agent, stage.text(changes))

it('a run that the client cannot ask about waits for squall mcp approve, once', async () => {
  const asked = await proposed()
  const waiting = await agent.call('run_experiment', asked)
  expect(waiting).toMatchObject({
    isError: false,
    data: { status: 'approval_required' },
  })
  const [program, ...args] = (waiting.data.next as string)
    .replace('npx mcp-squall', 'squall')
    .split(' ')
  expect(program).toBe('squall')
  const approve = (line: string) => inTerminal(args, line)
  expect(await approve('n')).toContain('not approved')
  expect((await agent.call('run_experiment', asked)).data.status).toBe('approval_required')
  const shown = await approve('y')
  expect(shown).toContain(asked.digest)
  expect(shown).toContain('Largest effect: work fails with the tool error "no" in 20 % of calls')
  expect(shown).toContain(
    'Ends early if: errors >90%; stop_experiment is called. If squall mcp stops,',
  )
  expect(shown).toContain('Worst case: at most 20% of calls, 12 calls of the load')
  const run = await agent.call('run_experiment', asked)
  expect(run.data).toMatchObject({ status: 'done', restored: true })
  const again = await agent.call('run_experiment', asked)
  expect(again.isError).toBe(true)
  expect(again.text).toContain(`the proposal ${asked.id} was used for a run at `)
  expect(await approveInTerminal(asked.id, 'y')).toContain('was used for a run')
})

it('an approval stays valid when another experiment keeps the run from beginning', async () => {
  const other = await agentOf()
  const long = await propose(other, stage.text({ hold: '1m' }))
  const asked = await proposed()
  await approveInTerminal(long.id, 'y')
  await approveInTerminal(asked.id, 'y')
  const running = other.call('run_experiment', long)
  await eventually(async () => ((await phaseIn(stage)) === 'on' ? undefined : 'the rule is off'))
  const early = await agent.call('run_experiment', asked)
  expect(early).toMatchObject({ isError: true })
  expect(early.text).toContain('EXPERIMENT_RUNNING')
  await other.call('stop_experiment')
  await running
  expect((await agent.call('run_experiment', asked)).data).toMatchObject({ status: 'done' })
  const started = (await readFile(at('audit.jsonl'), 'utf8')).match(/"outcome":"started"/g)
  expect(started).toHaveLength(2)
})

it('an approval stays valid when the audit log cannot be written', async () => {
  const asked = await proposed()
  await approveInTerminal(asked.id, 'y')
  await unlink(at('audit.jsonl'))
  await mkdir(at('audit.jsonl'))
  expect((await agent.call('run_experiment', asked)).text).toContain('EISDIR')
  await rmdir(at('audit.jsonl'))
  expect((await agent.call('run_experiment', asked)).data).toMatchObject({ status: 'done' })
})
