import { cell, GENERATED, sentence, table } from './markdown.mjs'

/** Number of commands from which a shared flag is described once. */
const SHARED = 3
const HEAD = ['Flag', 'Default', 'Meaning']

/**
 * Returns the reference of all commands except run, which has its own page, from the list in the code.
 */
export async function commandsPage(built) {
  const { allCommands } = await built('src/cli/squall.js')
  const commands = await allCommands()
  const others = commands.filter(({ name }) => name !== 'run')
  const shared = sharedFlags(others)
  const homeOf = homeOfFlags(commands)
  const rows = others.map(({ name, description }) => [
    `[\`squall ${name}\`](#${anchor(name)})`,
    cell(description),
  ])
  return `${GENERATED}

# Command-line reference

Look up a \`squall\` command and its flags. A separate page lists [the flags of \`squall run\`](flags.md), the sidecar. All commands use the same [exit codes](exit-codes.md). \`man squall\` describes the same commands and flags, and also \`squall run\`.

${table(['Command', 'Purpose'], rows)}

## Flags of several commands

Several commands accept these flags. The sections of the commands list these flags only by name, unless their meaning or default differs there.

${table(HEAD, [...shared.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(row))}

## Environment variables

For commands whose section links here, you can set flags as environment variables. Add the prefix \`SQUALL_\` to the flag in capitals, with \`_\` instead of \`-\`: \`SQUALL_ADMIN_TOKEN_FILE\` sets \`--admin-token-file\`. The command line takes precedence. \`SQUALL_JSON=true\` sets \`--json\` for all commands that have it, and prints errors as JSON too.

${others.map((command) => section(command, homeOf)).join('\n\n')}
`
}

/** Returns a function that says where a flag of a command is explained: `own`, `shared` or `run`. */
export function homeOfFlags(commands) {
  const shared = sharedFlags(commands.filter(({ name }) => name !== 'run'))
  const run = new Set(commands.find(({ name }) => name === 'run').flags.map(identity))
  return (flag, { name }) => {
    if (name === 'run') return 'own'
    if (name === 'stdio' && run.has(identity(flag))) return 'run'
    return shared.has(identity(flag)) ? 'shared' : 'own'
  }
}

/** Returns the flags that several commands have with the same meaning, by their identity. */
export function sharedFlags(commands) {
  const counts = new Map()
  for (const flag of commands.flatMap(({ flags }) => flags)) {
    const key = identity(flag)
    counts.set(key, { flag, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  const often = [...counts].toSorted(([, a], [, b]) => b.count - a.count)
  const names = often.map(([, { flag }]) => flag.name)
  // A name that some commands give another meaning stands for the meaning that most give it.
  const shared = often.filter(
    ([, { flag, count }], index) => count >= SHARED && names.indexOf(flag.name) === index,
  )
  return new Map(shared.map(([key, { flag }]) => [key, flag]))
}

function identity({ name, short, value, default: fallback, help }) {
  return JSON.stringify([name, short, value, fallback, help])
}

function section(command, homeOf) {
  const { name, description, examples, page, operands, flags, fromEnvironment } = command
  const words = operands === undefined ? '' : ` ${operands.form}`
  const options = flags.length === 0 ? '' : ' [options]'
  const usage = `\`\`\`text\nsquall ${name}${options}${words}\n\`\`\``
  const at = (home) => flags.filter((flag) => homeOf(flag, command) === home)
  const rows = at('own').map(row)
  const parts = [`## squall ${name}`, cell(sentence(description)), usage]
  if (rows.length > 0) parts.push(table(HEAD, rows))
  parts.push(
    ...elsewhere('[Flags of several commands](#flags-of-several-commands)', at('shared')),
    ...elsewhere('[Flags of `squall run`](flags.md)', at('run')),
  )
  if (fromEnvironment && flags.length > 0)
    parts.push('[Environment variables](#environment-variables) can set these flags.')
  const lines = examples.map((example) => `npx mcp-squall ${example}`).join('\n')
  const more = page.replace('docs/', '')
  parts.push(`Examples:\n\n\`\`\`sh\n${lines}\n\`\`\``, `More: [${more}](../${more})`)
  return parts.join('\n\n')
}

function elsewhere(where, flags) {
  const names = flags.map(({ name, short }) =>
    short === undefined ? `\`--${name}\`` : `\`-${short}\`, \`--${name}\``,
  )
  return names.length === 0 ? [] : [`${where}: ${names.join(', ')}.`]
}

function row({ name, short, value, default: fallback, help }) {
  const form = value === undefined ? `--${name}` : `--${name} <${value}>`
  const none = value === undefined ? 'off' : '–'
  return [
    `\`${short === undefined ? '' : `-${short}, `}${form}\``,
    fallback === undefined ? none : `\`${fallback}\``,
    cell(help),
  ]
}

function anchor(name) {
  return `squall-${name.replaceAll(' ', '-')}`
}
