// part: slow
// The plugin for coding agents: its hook and the commands that it shows.
import { mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { blocksOf, commandsOf, pages, ROOT } from '../docs/blocks.ts'
import { type Reader } from '../docs/reader.ts'
import { startTerminal } from '../support/commands.ts'
import { trustPolicy } from '../../packages/experiments/src/policy/trust.ts'

const AGENTS = `${ROOT}deploy/agents/`
const PLAN = `name: slow-search
target: { url: http://127.0.0.1:15300/mcp, environment: staging }
sidecar: { admin: http://127.0.0.1:15390, rulesFile: ./rules.yaml }
steadyState: { errors: 1% }
rules: [{ name: a, match: { tool: search_docs }, faults: [delay: { fixed: 1s }] }]
stages: [10%]
hold: 10s
load: { tools: [search_docs], rate: 10/s }
abortOn: { errors: 5% }
slo: { success: 99% }
`

let reader: Reader
let project: string

beforeEach(async () => {
  const bin = `${ROOT}build/agent-plugin-bin`
  await mkdir(bin, { recursive: true })
  await rm(join(bin, 'squall'), { force: true })
  await symlink(`${ROOT}bin/squall.cjs`, join(bin, 'squall'))
  reader = await startTerminal({ reader: { path: [bin] } })
  project = join(reader.directory, '..')
  await writeFile(
    join(reader.directory, 'squall-policy.yaml'),
    await readFile(`${AGENTS}squall-policy.yaml`),
  )
})

afterEach(() => reader.close())

it('the hook blocks approvals where the project has a policy', async () => {
  const { hooks } = JSON.parse(await readFile(`${AGENTS}plugin/hooks/hooks.json`, 'utf8')) as {
    hooks: { PreToolUse: [{ hooks: [{ command: string }] }] }
  }
  const { command } = hooks.PreToolUse[0].hooks[0]
  await writeFile(join(reader.directory, 'hook.sh'), command)
  const ask = (bash: string, directory: string) => {
    const event = JSON.stringify({
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: bash },
    })
    return reader.run(
      `cd / && echo '${event}' | XDG_STATE_HOME='${reader.directory}/state' CLAUDE_PROJECT_DIR='${directory}' bash '${reader.directory}/hook.sh'`,
    )
  }
  expect(await ask('squall mcp approve 3f9c1a07be', reader.directory)).toMatchObject({
    code: 2,
    text: expect.stringContaining('approve'),
  })
  expect(await ask('ls', reader.directory)).toMatchObject({ code: 0, text: '' })
  expect(await ask('squall mcp approve 3f9c1a07be', project)).toMatchObject({ code: 0, text: '' })
  // A person trusted a policy there, which is gone.
  const policy = join(await realpath(project), 'squall-policy.yaml')
  await trustPolicy(join(reader.directory, 'state/squall'), policy, {
    digest: 'sha256:x',
    by: 'ada',
  })
  expect(await ask('ls', project)).toMatchObject({
    code: 2,
    text: expect.stringContaining('ask a person to restore it, or to run squall mcp policy init'),
  })
})

it('the commands of skill and commands run', async () => {
  const shown = (await pages()).filter((page) => page.startsWith('deploy/agents/plugin/'))
  const blocks = (await Promise.all(shown.map(blocksOf))).flat()
  const commands = blocks.flatMap(commandsOf)
  const isFirst = (command: string): boolean => /^squall (?:init|run)/.test(command)
  const ordered = [...commands.filter(isFirst), ...commands.filter((command) => !isFirst(command))]
  await reader.write('plan.yaml', PLAN)
  await reader.run('node examples/server.mjs')
  for (const command of ordered) {
    // The sidecar of the test has another port than the default.
    const here = command.replace(/^squall check/, 'SQUALL_SIDECAR=$SQUALL_ADMIN squall check')
    const { code, text } = await reader.run(here.replace(/^squall run/, 'npx mcp-squall run'))
    expect([0, null], `${command}\n${text}`).toContain(code)
  }
  expect(commands.length).toBeGreaterThan(8)
})
