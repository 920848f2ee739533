import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const shipped = async <T>(name: string): Promise<T> =>
  JSON.parse(await readFile(new URL(`../../deploy/agents/${name}`, import.meta.url), 'utf8')) as T

const COMMAND = 'squall hook --policy squall-policy.yaml'

it('the settings of Claude Code check each call that may reach Squall or change what guards it', async () => {
  const { hooks, permissions } = await shipped<{
    permissions: { deny: string[] }
    hooks: { PreToolUse: { matcher: string; hooks: { type: string; command: string }[] }[] }
  }>('claude-settings.json')
  const [{ matcher, hooks: commands } = { matcher: '', hooks: [] }] = hooks.PreToolUse
  expect(commands).toEqual([{ type: 'command', command: COMMAND }])
  const matches = new RegExp(`^(?:${matcher})$`)
  for (const tool of ['Bash', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'mcp__squall__x']) {
    expect(tool).toMatch(matches)
  }
  for (const tool of ['Read', 'Grep', 'Task']) expect(tool).not.toMatch(matches)
  for (const file of ['squall-policy.yaml', '.claude/settings.json', '.mcp.json']) {
    expect(permissions.deny).toContain(`Edit(${file})`)
  }
})

it('the hooks of Cursor fail closed', async () => {
  const hook = [{ command: COMMAND, failClosed: true }]
  expect(await shipped('cursor-hooks.json')).toEqual({
    version: 1,
    hooks: { beforeMCPExecution: hook, beforeShellExecution: hook },
  })
})
