import { cell, GENERATED, table } from './markdown.mjs'

/**
 * The reference of all commands but run, which has a page of its own, from their list in the code.
 */
export async function commandsPage(built) {
  const { allCommands } = await built('src/cli/squall.js')
  const commands = await allCommands()
  const { envName } = await built('src/base/flags/flag.js')
  const others = commands.filter(({ name }) => name !== 'run')
  const rows = others.map(({ name, description }) => [
    `[\`squall ${name}\`](#${anchor(name)})`,
    cell(description),
  ])
  return `${GENERATED}

# Commands

\`squall run\` is the sidecar itself: its flags are on [a page of their own](flags.md).

${table(['Command', 'What it does'], rows)}

Exit codes: 0 for success, 1 when an operation failed or a threshold was not met, 2 for an invalid command line, environment or file. A variable sets its flag; the command line takes precedence.

${others.map((command) => section(command, envName)).join('\n\n')}
`
}

function section({ name, description, examples, page, operands, flags, fromEnvironment }, envName) {
  const words = operands === undefined ? '' : ` ${operands.form}`
  const options = flags.length === 0 ? '' : ' [options]'
  const usage = `\`\`\`text\nsquall ${name}${options}${words}\n\`\`\``
  const head = fromEnvironment
    ? ['Flag', 'Variable', 'Default', 'Meaning']
    : ['Flag', 'Default', 'Meaning']
  const rows = flags.map((flag) => row(flag, fromEnvironment ? envName(flag.name) : undefined))
  const parts = [`## squall ${name}`, `${sentence(description)}`, usage]
  if (rows.length > 0) parts.push(table(head, rows))
  const lines = examples.map((example) => `npx squall ${example}`).join('\n')
  const more = page.replace('docs/', '')
  parts.push(`Examples:\n\n\`\`\`sh\n${lines}\n\`\`\``, `More: [${more}](../${more})`)
  return parts.join('\n\n')
}

function row({ name, short, value, default: fallback, help }, variable) {
  const form = value === undefined ? `--${name}` : `--${name} <${value}>`
  const none = value === undefined ? 'off' : '–'
  return [
    `\`${short === undefined ? '' : `-${short}, `}${form}\``,
    ...(variable === undefined ? [] : [`\`${variable}\``]),
    fallback === undefined ? none : `\`${fallback}\``,
    cell(help),
  ]
}

function sentence(text) {
  return cell(`${text[0].toUpperCase()}${text.slice(1)}.`)
}

function anchor(name) {
  return `squall-${name.replaceAll(' ', '-')}`
}
