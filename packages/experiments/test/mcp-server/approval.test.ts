// part: slow
import { beforeEach, expect, it } from 'vitest'
import { type Agent, propose } from './agent.ts'
import { agentOf, approveInTerminal, eachOnStage, stage } from './on-stage.ts'

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
    data: { status: 'approval_required', next: `squall mcp approve ${asked.id}` },
  })
  expect(await approveInTerminal(asked.id, 'n')).toContain('not approved')
  expect((await agent.call('run_experiment', asked)).data.status).toBe('approval_required')
  const shown = await approveInTerminal(asked.id, 'y')
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
