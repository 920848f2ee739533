import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const shipped = async <T>(name: string): Promise<T> =>
  JSON.parse(await readFile(new URL(`../../deploy/agents/${name}`, import.meta.url), 'utf8')) as T

const COMMAND = 'squall hook --policy squall-policy.yaml'

it('the settings of Claude Code check calls of chaos servers and of the shell, and no others', async () => {
  const { hooks } = await shipped<{
    hooks: { PreToolUse: { matcher: string; hooks: { type: string; command: string }[] }[] }
  }>('claude-settings.json')
  const [{ matcher, hooks: commands } = { matcher: '', hooks: [] }] = hooks.PreToolUse
  expect(commands).toEqual([{ type: 'command', command: COMMAND }])
  const matches = new RegExp(`^(?:${matcher})$`)
  for (const tool of ['Bash', 'mcp__squall__run_experiment', 'mcp__my-chaos__inject']) {
    expect(tool).toMatch(matches)
  }
  for (const tool of ['Read', 'mcp__github__list_issues']) expect(tool).not.toMatch(matches)
})

it('the hooks of Cursor fail closed', async () => {
  const settings = await shipped('cursor-hooks.json')
  expect(settings).toEqual({
    version: 1,
    hooks: { beforeMCPExecution: [{ command: COMMAND, failClosed: true }] },
  })
})
