// part: slow
import { appendFile, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startProgram } from '../../../../test/support/commands.ts'
import { policyDigest } from '../../src/policy/trust.ts'
import { BEFORE } from '../experiment/stage.ts'
import { controlFlags, openAgent, propose, trust } from './agent.ts'
import { agentOf, at, closing, eachOnStage, inTerminal, stage } from './on-stage.ts'

eachOnStage()

const POLICY = 'policy.yaml'
/** Makes the policy of the stage weaker, as an agent would. */
const weaken = (): Promise<void> =>
  appendFile(at(POLICY), '\n# still valid, and no longer what a person trusts\n')
const digest = async (): Promise<string> => policyDigest(await readFile(at(POLICY), 'utf8'))

async function auditedPolicies(): Promise<readonly unknown[]> {
  const lines = (await readFile(at('audit.jsonl'), 'utf8')).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { policy: unknown }).policy)
}

it('a policy that the agent changes runs nothing, until a person trusts it', async () => {
  const agent = await agentOf({ approval: 'none' })
  const before = await digest()
  const asked = await propose(agent, stage.text({}))
  await weaken()
  const after = await digest()
  const plan = stage.text({})
  const impact = { scenario: 'latency', tools: ['work'] }
  const limit = { plan, vary: 'percent=1%..20%', until: 'errors>5%' }
  for (const [tool, args] of [
    ['run_experiment', asked],
    ['propose_experiment', { plan }],
    ['run_impact', impact],
    ['find_limit', limit],
  ] as const) {
    const { isError, text } = await agent.call(tool, args)
    expect(isError, tool).toBe(true)
    expect(text, tool).toContain(`this policy is not trusted (${after})`)
    expect(text, tool).toContain('policy trust')
  }
  expect(await stage.rules()).toBe(BEFORE)
  await trust(at(POLICY))
  expect((await agent.call('propose_experiment', { plan })).isError).toBe(false)
  expect(new Set(await auditedPolicies())).toEqual(new Set([before, after]))
  expect((await auditedPolicies()).at(-1)).toBe(after)
})

it('a server that the client of an agent starts again trusts no other policy', async () => {
  const server = await controlFlags(stage, { approval: 'none' })
  await weaken()
  const agent = await openAgent({ server })
  closing.push(() => agent.close())
  const { isError, text } = await agent.call('propose_experiment', { plan: stage.text({}) })
  expect(isError).toBe(true)
  expect(text).toContain('this policy is not trusted')
  // Rollback and reading are always allowed.
  expect((await agent.call('stop_experiment')).isError).toBe(false)
  expect((await agent.call('list_targets')).isError).toBe(false)
})

it('a person trusts a policy at a terminal, in a file outside the project', async () => {
  const server = await controlFlags(stage)
  await weaken()
  const own = { XDG_STATE_HOME: at('own-state') }
  const piped = startProgram(['mcp', 'policy', 'trust', at(POLICY)], own, { input: 'y\n' })
  const { code, stderr } = await piped.finished()
  expect(code).toBe(2)
  expect(stderr).toContain('only a person at a terminal can trust a policy')
  const declined = await inTerminal(['mcp', 'policy', 'trust', at(POLICY)], 'n', own)
  expect(declined).toContain('not trusted')
  const shown = await inTerminal(['mcp', 'policy', 'trust', at(POLICY)], 'y', own)
  expect(shown).toContain(await digest())
  expect(shown).toContain('no longer what a person trusts')
  expect(shown).toContain('trusted: experiments run within these limits')
  const directory = join(own.XDG_STATE_HOME, 'squall', 'trusted-policies')
  const [file = '', ...others] = await readdir(directory)
  expect(others).toEqual([])
  expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600)
  const agent = await openAgent({ server, env: own })
  closing.push(() => agent.close())
  expect((await agent.call('propose_experiment', { plan: stage.text({}) })).isError).toBe(false)
  expect(await inTerminal(['mcp', 'policy', 'trust', at(POLICY)], 'y', own)).toContain(
    'This policy is already trusted.',
  )
})
