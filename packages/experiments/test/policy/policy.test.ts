// part: slow
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProgram } from '../../../../test/support/commands.ts'

const SHIPPED = new URL('../../../../deploy/agents/', import.meta.url)
const PLAN = `name: too-wide
target: { url: http://127.0.0.1:15300/mcp, environment: staging }
sidecar: { admin: http://127.0.0.1:15390, rulesFile: ./rules.yaml }
steadyState: { errors: 1% }
rules: [{ name: a, match: { tool: search }, faults: [reset] }]
stages: [25%]
load: { tools: [search] }
abortOn: { errors: 5% }
`

let directory: string
let policy: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-policy-'))
  policy = join(directory, 'squall-policy.yaml')
  await writeFile(policy, await readFile(new URL('squall-policy.yaml', SHIPPED)))
  await writeFile(join(directory, 'plan.yaml'), PLAN)
})

afterAll(() => rm(directory, { recursive: true }))

const squall = (...args: readonly string[]) => startProgram(args, {}, { here: true })

describe('squall mcp policy', () => {
  it('validates the shipped policy, and shows the place of an error', async () => {
    expect(await squall('mcp', 'policy', 'validate', policy)).toMatchObject({ code: 0 })
    const wrong = join(directory, 'wrong.yaml')
    await writeFile(wrong, 'targets: [x]\nenvironments: [staging]\nfirstStages: 5%\n')
    const { code, stdout } = await squall('mcp', 'policy', 'validate', wrong)
    expect(code).toBe(1)
    expect(stdout).toContain('wrong.yaml:3:1: firstStages: unknown key "firstStages"; did you mean')
  })

  it.each(['claude', 'cursor'])('prints its limits for %s', async (agent) => {
    const { stdout } = await squall('mcp', 'policy', 'print', policy, '--agent', agent)
    for (const limit of ['staging or dev', '10%', '50%', '30m', 'delete_*', 'truncate']) {
      expect(stdout).toContain(limit)
    }
  })
})

describe('squall mcp policy init', () => {
  it('is named where there is no policy', async () => {
    const cwd = await mkdtemp(join(directory, 'none-'))
    const { code, stderr } = await startProgram(['mcp'], {}, { cwd }).finished()
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^squall: "squall-policy.yaml" cannot be read .*mcp policy init writes one/,
    )
  })

  it('writes a policy and adds the settings of the agent to its own, once', async () => {
    const cwd = await mkdtemp(join(directory, 'init-'))
    const settings = join(cwd, '.claude', 'settings.json')
    await mkdir(join(cwd, '.claude'))
    await writeFile(settings, '{"model":"x","permissions":{"deny":["Bash(rm:*)"]}}')
    const init = () => startProgram(['mcp', 'policy', 'init'], {}, { cwd }).finished()
    expect((await init()).stdout).toContain('policy trust squall-policy.yaml')
    const first = await readFile(settings, 'utf8')
    expect((await init()).stdout).toContain('already exists and was kept')
    expect(await readFile(settings, 'utf8')).toBe(first)
    expect(JSON.parse(first)).toMatchObject({
      model: 'x',
      permissions: {
        deny: expect.arrayContaining(['Bash(rm:*)', 'Edit(squall-policy.yaml)']) as unknown,
      },
      hooks: { PreToolUse: [{ matcher: expect.stringContaining('Edit') as unknown }] },
    })
    const written = join(cwd, 'squall-policy.yaml')
    expect(await squall('mcp', 'policy', 'validate', written)).toMatchObject({ code: 0 })
  })
})

describe('squall experiment', () => {
  it.each(['validate', 'run'])('%s rejects a plan outside the policy', async (command) => {
    const plan = join(directory, 'plan.yaml')
    const args = ['experiment', command, '--policy', policy, plan]
    const { code, stdout, stderr } = await startProgram(args).finished()
    expect(code).toBe(1)
    const text = stdout + stderr
    expect(text).toMatch(/plan\.yaml:6:10: POLICY: the first stage 25% is above firstStage: 10%/)
    expect(text).toMatch(/plan\.yaml:5:9: POLICY: .* the fault "reset" in the rule "a"/)
    expect(text).toMatch(/POLICY: the policy requires a limit in `slo`; add slo: /)
  })

  it('does not run without a policy that it was told to keep', async () => {
    const missing = join(directory, 'none.yaml')
    const plan = join(directory, 'plan.yaml')
    const { code, stderr } = await squall('experiment', 'run', '--policy', missing, plan)
    expect(code).toBe(2)
    expect(stderr).toContain('none.yaml" cannot be read (no such file or directory)')
  })
})

describe('squall mcp hook', () => {
  const hook = async (input: string, file = policy) =>
    startProgram(['mcp', 'hook', '--policy', file], {}, { input }).finished()

  it('allows a call within the policy, and says nothing', async () => {
    const event = { hook_event_name: 'PreToolUse', tool_input: { target: 'staging' } }
    expect(await hook(JSON.stringify(event))).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it.each([
    [{ tool_input: { namespace: 'shop-prod' } }, 'names production: it matches'],
    [{ tool_input: '{"namespace":"prod"}' }, 'names production'],
    [{ tool_input: {}, url: 'http://mcp.prod.svc' }, 'names production'],
    [{ tool_input: { faults: ['reset'] } }, 'no numeric gate'],
    [
      { tool_input: { command: 'npx mcp-squall mcp approve 3f9c1a07be' } },
      'only a person at a terminal may',
    ],
    [{ tool_name: 'x' }, 'tool_input is missing'],
    [
      { tool_name: 'Bash', tool_input: { command: 'squall fault add --abort 503 --percent 100' } },
      '"fault add" changes faults without a plan',
    ],
    [{ command: 'squall apply', cwd: '/' }, '"apply" changes faults without a plan'],
    [
      { tool_name: 'Write', tool_input: { file_path: 'squall-policy.yaml', content: '' } },
      'the call may change "squall-policy.yaml", which only a person may',
    ],
  ])('refuses %j with exit code 2', async (event, wanted) => {
    const { code, stdout, stderr } = await hook(JSON.stringify(event))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(wanted)
  })

  it.each(['NODE_ENV=production npm run build', 'grep -r live src'])(
    'passes a command that does not reach Squall: %j',
    async (command) => {
      const event = { tool_name: 'Bash', tool_input: { command } }
      expect(await hook(JSON.stringify(event))).toMatchObject({ code: 0, stderr: '' })
    },
  )

  it('refuses what it cannot read', async () => {
    expect(await hook('no json')).toMatchObject({ code: 2 })
    expect(await hook(`{"tool_input":"${'x'.repeat(1024 * 1024)}"}`)).toMatchObject({ code: 2 })
    expect(await hook('{"tool_input":{}}', join(directory, 'none.yaml'))).toMatchObject({ code: 2 })
    const percent = Array.from({ length: 400_000 }, () => 1)
    expect(await hook(JSON.stringify({ tool_input: { percent } }))).toMatchObject({ code: 2 })
  })
})
