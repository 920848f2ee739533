// part: slow-nightly
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { Proposals } from '../../src/mcp-server/proposals.ts'
import { BEFORE } from '../experiment/stage.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { type Agent, controlFlags, openAgent, propose } from './agent.ts'
import { agentOf, approveInTerminal, at, eachOnStage, stage } from './on-stage.ts'

let agent: Agent

eachOnStage()
beforeEach(async () => {
  agent = await agentOf()
})

const proposed = (changes = {}) => propose(agent, stage.text(changes))

it('squall mcp approve approves nothing without a terminal', async () => {
  const asked = await proposed()
  const args = ['mcp', 'approve', asked.id, '--state-dir', at('state')]
  const { code, stderr } = await startProgram(args, {}, { input: 'y\n' }).finished()
  expect(code).toBe(2)
  expect(stderr).toContain('only a person at a terminal can approve a run')
  expect((await agent.call('run_experiment', asked)).data.status).toBe('approval_required')
})

it('an approval is for one plan: neither another digest nor a changed plan runs', async () => {
  const mild = await proposed()
  const strong = await proposed({ hold: '700ms' })
  await approveInTerminal(mild.id, 'y')
  const swapped = await agent.call('run_experiment', { id: mild.id, digest: strong.digest })
  expect(swapped.text).toContain('the digest does not match the proposal')
  const file = at(join('state', 'proposals', `${mild.id}.json`))
  const kept = JSON.parse(await readFile(file, 'utf8')) as object
  await writeFile(file, JSON.stringify({ ...kept, plan: stage.text({ hold: '700ms' }) }))
  expect((await agent.call('run_experiment', mild)).text).toContain('the stored plan has changed')
  // The approval of one plan is none for another.
  const directory = at(join('state', 'proposals'))
  await rename(join(directory, `${mild.id}.approved`), join(directory, `${strong.id}.approved`))
  expect((await agent.call('run_experiment', strong)).data.status).toBe('approval_required')
  expect(await stage.rules()).toBe(BEFORE)
})

it('a policy can accept squall mcp approve alone', async () => {
  const other = await openAgent({
    server: await controlFlags(stage, { approval: 'terminal' }),
    approves: true,
  })
  const asked = await proposed()
  expect((await other.call('run_experiment', asked)).data.status).toBe('approval_required')
  expect(other.questions).toEqual([])
  await other.close()
})

it('the policy of the moment decides, also about plans that a person has approved', async () => {
  const asked = await proposed()
  await approveInTerminal(asked.id, 'y')
  await controlFlags(stage, { faults: ['delay'] })
  const denied = await agent.call('run_experiment', asked)
  expect(denied).toMatchObject({ isError: true })
  expect(denied.text).toContain('POLICY: the policy does not allow the fault "abort"')
})

it('proposals and approvals expire, and there are at most 100', async () => {
  let now = 1_000_000
  const directory = at('later')
  await mkdir(directory)
  const proposals = new Proposals(directory, () => now)
  const plan = { digest: 'd', plan: '', target: 't', summary: [] }
  const { id } = await proposals.add(plan)
  await proposals.approve(id, 'ada')
  const found = await proposals.find(id)
  expect(await proposals.approvalOf(found)).toMatchObject({ by: 'ada' })
  // Set back: an approval must not last until the clock is where it was.
  now -= 1_000
  expect(await proposals.approvalOf(found)).toBeUndefined()
  await expect(proposals.find(id)).rejects.toThrow(`the proposal ${id} has expired`)
  now += 1_000 + 15 * 60_000
  expect(await proposals.approvalOf(found)).toBeUndefined()
  now += 45 * 60_000
  await expect(proposals.find(id)).rejects.toThrow(`the proposal ${id} has expired`)
  for (let count = 0; count < 120; count++) {
    now++
    await proposals.add(plan)
  }
  expect(await readdir(join(directory, 'proposals'))).toHaveLength(100)
})
