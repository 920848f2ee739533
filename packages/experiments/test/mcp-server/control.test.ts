// part: slow
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BEFORE } from '../experiment/stage.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { type Agent, controlFlags, openAgent, phaseIn, propose, SDKS, STATE } from './agent.ts'
import { agentOf, closing, eachOnStage, stage } from './on-stage.ts'

const TOKEN = 'a-token-of-enough-length'

eachOnStage()

async function audited(): Promise<readonly Record<string, unknown>[]> {
  const text = await readFile(join(stage.directory, 'audit.jsonl'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

const proposed = (agent: Agent, changes = {}) => propose(agent, stage.text(changes))
const armed = () =>
  eventually(async () => ((await phaseIn(stage)) === 'on' ? undefined : 'the rule is off'))

describe.each(SDKS)('an agent with SDK %s', (sdk) => {
  it('proposes a plan over stdio, and runs it after a person has agreed', async () => {
    const agent = await agentOf({}, { sdk, approves: true })
    const { data: known } = await agent.call('list_targets')
    expect(known).toMatchObject({
      environments: ['staging'],
      sidecars: [{ admin: stage.squall.admin, environment: 'staging', armed: true }],
      servers: [{ matching: 2, tools: [{ name: 'work', forbidden: false }, { name: 'rest' }] }],
    })
    const asked = await proposed(agent)
    const run = await agent.call('run_experiment', asked)
    expect(run).toMatchObject({ isError: false, data: { status: 'done', restored: true } })
    expect(agent.questions).toHaveLength(1)
    expect(agent.questions[0]).toContain('at most 20% of calls')
    expect(agent.questions[0]).toContain(asked.digest)
    expect(agent.progress.join('\n')).toMatch(/stage 1 of 1: 20%/)
    expect(await stage.rules()).toBe(BEFORE)
    // On a busy machine the verdict may be inconclusive.
    const { verdict, experiment } = run.data as Record<string, string>
    const { text } = await agent.call('get_experiment', { id: 'last' })
    expect(text).toContain(`# test: ${verdict}`)
    expect((await agent.call('list_experiments')).data).toMatchObject({
      experiments: [{ id: experiment, verdict }],
    })
    // Approval and proposal are for one run.
    expect(await agent.call('run_experiment', asked)).toMatchObject({
      isError: true,
      text: expect.stringContaining('was used for a run'),
    })
    const asking = { outcome: 'approval_required', proposal: asked.id, digest: asked.digest }
    expect(await audited()).toContainEqual(expect.objectContaining(asking))
    expect(await audited()).toContainEqual(
      expect.objectContaining({
        tool: 'run_experiment',
        client: 'agent 1.0.0',
        outcome: 'done',
        approvedBy: 'a question of agent 1.0.0',
        digest: asked.digest,
        verdict,
      }),
    )
  })

  it('runs nothing over HTTP that a person declines, and nothing without the token', async () => {
    const flags = await controlFlags(stage)
    const server = startProgram(['mcp', '--listen', '127.0.0.1:0', ...flags], {
      ...STATE,
      SQUALL_MCP_TOKEN: TOKEN,
    })
    closing.push(() => server.kill())
    const url = new URL(/http:\S+/.exec(await server.firstLine())![0])
    await expect(
      openAgent({ sdk, server: url, token: 'another-token-of-length' }),
    ).rejects.toThrow()
    const agent = await openAgent({ sdk, server: url, token: TOKEN, approves: false })
    closing.push(() => agent.close())
    const asked = await proposed(agent)
    const declined = await agent.call('run_experiment', asked)
    expect(declined).toMatchObject({ isError: true })
    expect(declined.text).toContain('a person declined the run')
    expect(agent.questions).toHaveLength(1)
    expect((await agent.call('run_experiment', asked)).text).toContain('was declined by a person')
    expect(await stage.rules()).toBe(BEFORE)
  })

  it('rolls back when a call is cancelled', async () => {
    const agent = await agentOf({ approval: 'none' }, { sdk })
    const asked = await proposed(agent, { hold: '1m' })
    const cancelling = new AbortController()
    const run = agent.call('run_experiment', asked, cancelling.signal).catch(() => 'cancelled')
    await armed()
    cancelling.abort()
    expect(await run).toBe('cancelled')
    await eventually(async () => ((await stage.rules()) === BEFORE ? undefined : 'not restored'))
    await eventually(async () => {
      const ended = (await audited()).find(({ verdict }) => verdict === 'inconclusive')
      return ended === undefined ? 'not logged' : undefined
    })
  })
})

it('logs the end of a run whose client has left', async () => {
  const agent = await agentOf({ approval: 'none' })
  const asked = await proposed(agent, { hold: '1m' })
  agent.call('run_experiment', asked).catch(() => 'left')
  await armed()
  await agent.close()
  await eventually(async () => ((await stage.rules()) === BEFORE ? undefined : 'not restored'))
  await eventually(async () => {
    const ended = (await audited()).find(({ verdict }) => verdict === 'inconclusive')
    return ended?.['digest'] === asked.digest ? undefined : 'not logged'
  })
})

it('logs the end of a run whose target is not in steady state', async () => {
  const agent = await agentOf({ approval: 'none' })
  const asked = await proposed(agent, { steadyState: { p50: '0.001ms' } })
  const { text } = await agent.call('run_experiment', asked)
  expect(text).toContain('NOT_STEADY')
  const entries = (await audited()).filter(({ tool }) => tool === 'run_experiment')
  const about = { proposal: asked.id, digest: asked.digest, target: entries[0]?.['target'] }
  expect(entries).toMatchObject([
    { ...about, outcome: 'started' },
    { ...about, outcome: 'denied', reasons: [text] },
  ])
})

it.each(['steadyState', 'abortOn', 'expect'])(
  'a plan may not request a URL in %s that nobody has opened',
  async (section) => {
    const agent = await agentOf()
    const health = { url: 'http://169.254.169.254/latest' }
    const written = section === 'expect' ? { during: { health } } : { health }
    const plan = stage.text({ [section]: written })
    const { text, isError } = await agent.call('propose_experiment', { plan })
    expect(isError).toBe(true)
    expect(text).toContain('may not query the monitoring system at http://169.254.169.254')
  },
)
