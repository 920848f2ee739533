import { dirname } from 'node:path'
import { asInvoked, oneLine, ownCommand, shellWord } from '#base'
import type { ToolInfo } from '../load/clients/load-client.ts'
import { asText, defineCommand, group, one, print, toggle, UsageError, writeText } from '#cli'
import { schemaLine } from '../cli/schema-line.ts'
import { headerFlags, targetFlag } from '../cli/server-flags.ts'
import type { ListedServer } from '../cli/list-tools.ts'

const SERVER = 'The server:'
const MAX_LISTED = 50
const MAX_SLUG = 40

export const INIT = defineCommand({
  name: 'init',
  examples: [
    'init --target http://localhost:3000/mcp',
    'init --target http://localhost:3000/mcp --out -',
  ],
  page: 'docs/get-started/laptop.md',
  description: 'generate a starter rules file from the tools of an MCP server',
  flags: {
    ...targetFlag(SERVER),
    ...headerFlags(SERVER),
    ...group('Output:', {
      out: one('file', 'rules file to write; use - for standard output', asText, {
        default: 'rules.yaml',
      }),
      force: toggle('replace the file if it exists'),
    }),
  },
  note: `
The command calls no tool. The first rule fails 10 % of the calls to a read-only tool.`,
  parse: (flags) => flags,
  start: async ({ target: url, header: headers, authTokenFile, out, force }) => {
    const { listTools } = await import('../cli/list-tools.ts')
    const listed = await listTools(url, { headers, authTokenFile })
    const directory = out === '-' ? '.' : dirname(out)
    const text = `${schemaLine('rules', directory)}${firstRules(listed, url)}`
    await writeText(out === '-' ? undefined : out, '--out', text, force)
    if (out === '-') return 0
    const run = `${ownCommand()} run --upstream ${url.origin} --rules ${shellWord(oneLine(out, 200))}`
    await print(`Created ${oneLine(out, 200)}. Start Squall with these rules:\n  ${run}\n`)
    return 0
  },
})

/** Returns a rules file with a rule that acts, a disabled one, and the names of all tools. */
export function firstRules({ server, tools }: ListedServer, url: URL): string {
  const [tool, another = tool] = inOrder(tools)
  if (tool === undefined || another === undefined) {
    throw new UsageError(
      'INVALID_VALUE',
      'the server lists no tools',
      'check --target and its permissions',
    )
  }
  const names = tools.slice(0, MAX_LISTED).map(({ name }) => `#   ${oneLine(name, 100)}\n`)
  const left = tools.length - names.length
  const more = left > 0 ? `#   and ${left} more\n` : ''
  return `# Rules for ${oneLine(server, 100)} at ${url.origin}.
# ${asInvoked('squall validate checks this file, squall explain shows what it does')}.
rules:
  - name: ${slug(tool.name)}-fails
    match: { tool: ${JSON.stringify(tool.name)} }
    percent: 10
    faults: [abort: { toolError: 'this error was injected' }]

  - name: ${slug(another.name)}-is-slow
    enabled: false
    match: { tool: ${JSON.stringify(another.name)} }
    percent: 50
    faults: [delay: { fixed: 2s }]

# The tools of the server:
${names.join('')}${more}`
}

/** Returns the tools, read-only ones first. */
function inOrder(tools: readonly ToolInfo[]): readonly ToolInfo[] {
  const reads = tools.filter(({ hint }) => hint === 'reads')
  return [...reads, ...tools.filter(({ hint }) => hint !== 'reads')]
}

/** Returns a name of a tool as a part of the name of a rule. */
function slug(name: string): string {
  const text = name.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')
  return text.slice(0, MAX_SLUG).toLowerCase() || 'tool'
}
