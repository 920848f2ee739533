import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { parse } from 'yaml'

const shipped = async <T>(name: string): Promise<T> =>
  JSON.parse(await readFile(new URL(`../../deploy/agents/${name}`, import.meta.url), 'utf8')) as T

const COMMAND = 'squall mcp hook --policy squall-policy.yaml'
const PLUGIN = 'plugin/'

interface Server {
  readonly command: string
  readonly args: readonly string[]
}

interface Settings {
  readonly permissions?: { readonly deny: readonly string[] }
  readonly hooks: { readonly PreToolUse: readonly [Hook] }
}

interface Hook {
  readonly matcher: string
  readonly hooks: readonly { readonly type: string; readonly command: string }[]
}

it.each(['claude-settings.json', `${PLUGIN}hooks/hooks.json`])(
  'the hook of %s checks each call that may reach Squall or change what guards it',
  async (name) => {
    const [{ matcher, hooks }] = (await shipped<Settings>(name)).hooks.PreToolUse
    expect(hooks).toEqual([
      { type: 'command', command: expect.stringContaining('squall mcp hook --policy') as string },
    ])
    const matches = new RegExp(`^(?:${matcher})$`)
    for (const tool of ['Bash', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'mcp__squall__x']) {
      expect(tool).toMatch(matches)
    }
    // Claude Code puts the name of a plugin before that of its server.
    expect('mcp__plugin_squall_squall__run_experiment').toMatch(matches)
    for (const tool of ['Read', 'Grep', 'Task']) expect(tool).not.toMatch(matches)
  },
)

it('the hook of Claude Code reads the policy of the project from any directory', async () => {
  const [{ hooks }] = (await shipped<Settings>('claude-settings.json')).hooks.PreToolUse
  expect(hooks[0]?.command).toBe(
    'squall mcp hook --policy "$CLAUDE_PROJECT_DIR"/squall-policy.yaml',
  )
})

it('the settings of Claude Code deny edits of what guards it', async () => {
  const { permissions } = await shipped<Settings>('claude-settings.json')
  for (const file of ['squall-policy.yaml', '.claude/settings.json', '.mcp.json']) {
    expect(permissions?.deny).toContain(`Edit(${file})`)
  }
})

it('the plugin is in the marketplace of the tree, with the version of the package', async () => {
  const { name, version, ...manifest } = await shipped<Record<string, string>>(
    `${PLUGIN}.claude-plugin/plugin.json`,
  )
  const { version: own } = await shipped<{ version: string }>('../../package.json')
  expect([name, version]).toEqual(['squall', own])
  const market = await shipped<{ plugins: object[] }>('../../.claude-plugin/marketplace.json')
  expect(market.plugins).toEqual([
    { name, source: './deploy/agents/plugin', description: manifest['description'] },
  ])
})

it('skills and commands of the plugin have the keys that agents read', async () => {
  const directory = new URL(`../../deploy/agents/${PLUGIN}`, import.meta.url)
  const files = await readdir(directory, { recursive: true })
  const about = async (file: string): Promise<Record<string, string>> =>
    parse((await readFile(new URL(file, directory), 'utf8')).split('---\n')[1]!) as Record<
      string,
      string
    >
  const skills = files.filter((file) => file.endsWith('SKILL.md'))
  expect(skills).toEqual(['skills/squall/SKILL.md'])
  expect(Object.keys(await about(skills[0]!))).toEqual(['name', 'description'])
  const commands = files.filter((file) => /^commands\/[a-z]+\.md$/.test(file))
  expect(commands).toHaveLength(3)
  for (const command of commands) {
    expect(Object.keys(await about(command))).toEqual(['description', 'argument-hint'])
  }
})

it('VS Code starts the same server as the plugin', async () => {
  const { mcpServers } = await shipped<{ mcpServers: { squall: Server } }>(`${PLUGIN}.mcp.json`)
  const { servers } = await shipped<{ servers: { squall: Server } }>('vscode-mcp.json')
  expect(servers.squall).toEqual({ type: 'stdio', ...mcpServers.squall })
})

it('the hooks of Cursor fail closed', async () => {
  const hook = [{ command: COMMAND, failClosed: true }]
  expect(await shipped('cursor-hooks.json')).toEqual({
    version: 1,
    hooks: { beforeMCPExecution: hook, beforeShellExecution: hook },
  })
})
