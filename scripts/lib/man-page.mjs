import { homeOfFlags, sharedFlags } from './commands-page.mjs'
import { sentence } from './markdown.mjs'

const WHERE = { shared: 'Options of several commands', run: 'Options of squall run' }

/** The general meaning of each exit code, as docs/reference/exit-codes.md has it. */
const EXIT_CODES = {
  0: 'The command succeeded.',
  1: 'The command ran, but the result is negative.',
  2: 'The command did not run.',
  130: 'Ctrl-C ended the command.',
}

const VARIABLES = {
  'SQUALL_*':
    'Set options of the commands that say so: SQUALL_ADMIN_TOKEN_FILE sets --admin-token-file. The command line takes precedence, and an empty variable counts as unset.',
  KUBECONFIG: 'Names the kubeconfig files of the commands that use a cluster.',
  NO_COLOR: 'Switches colours off.',
}

const FILES = {
  'rules.yaml':
    'The rules, in the examples: any name will do. The format is in docs/reference/rules.md.',
  'squall-policy.yaml': 'The policy of squall mcp: docs/guides/policy.md.',
  experiments: 'The history and the reports of experiments.',
  '$XDG_STATE_HOME/squall': 'Locks and proposals of experiments; else in ~/.local/state/squall.',
}

/** Returns the manual page of all commands, in the man macros of roff. */
export async function manPage(built, { version, homepage }) {
  const commands = await (await built('src/cli/squall.js')).allCommands()
  const { PROGRAM } = await built('src/cli/catalog.js')
  const homeOf = homeOfFlags(commands)
  const shared = [...sharedFlags(commands.filter(({ name }) => name !== 'run')).values()]
  return [
    `.TH SQUALL 1 "" "squall ${version}" "User Commands"`,
    '.SH NAME\nsquall \\- inject faults into calls of an MCP server',
    '.SH SYNOPSIS\n.B squall\n.I command\n[options]',
    `.SH DESCRIPTION\n${prose(PROGRAM.description)}`,
    '.SH COMMANDS',
    ...commands.flatMap((command) => section(command, homeOf)),
    '.SH OPTIONS OF SEVERAL COMMANDS',
    ...shared.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(option),
    ...list('ENVIRONMENT', VARIABLES),
    ...list('FILES', FILES),
    ...list('EXIT STATUS', EXIT_CODES),
    `.SH SEE ALSO\n${prose(`The directory docs of the package, and ${homepage}`)}\n`,
  ].join('\n')
}

function section(command, homeOf) {
  const { name, description, operands, flags, examples, fromEnvironment } = command
  const at = (home) => flags.filter((flag) => homeOf(flag, command) === home)
  const others = Object.entries(WHERE).flatMap(([home, where]) => {
    const names = at(home).map((flag) => `--${flag.name}`)
    return names.length === 0 ? [] : [`.P\n${prose(`${where}: ${names.join(', ')}.`)}`]
  })
  const usage = `squall ${name}${flags.length > 0 ? ' [options]' : ''} ${operands?.form ?? ''}`
  return [
    `.SS "${escape(usage.trim())}"`,
    prose(sentence(description.replace(/\.$/, ''))),
    ...at('own').map(option),
    ...others,
    ...(fromEnvironment && flags.length > 0
      ? ['.P\nEnvironment variables set these options, too.']
      : []),
    '.P\nExamples:\n.P\n.RS 4\n.nf',
    ...examples.map((example) => prose(`squall ${example}`)),
    '.fi\n.RE',
  ]
}

function option({ name, short, value, default: fallback, help }) {
  const form = value === undefined ? '' : ` \\fI${escape(value)}\\fR`
  const names = `${short === undefined ? '' : `-${short}, `}--${name}`
  return `.TP\n\\fB${escape(names)}\\fR${form}\n${prose(fallback === undefined ? help : `${help} (default: ${fallback})`)}`
}

const list = (title, entries) => [
  `.SH ${title}`,
  ...Object.entries(entries).map(([term, text]) => `.TP\n.B ${escape(term)}\n${prose(text)}`),
]

/** Returns a text as lines of roff, none of which is a request. */
function prose(text) {
  return escape(text.replaceAll('`', '')).replaceAll(/^(?=[.'])/gm, '\\&')
}

function escape(text) {
  const plain = text.replaceAll('\\', '\\e').replaceAll('"', '\\(dq').replaceAll('-', '\\-')
  // groff reads bytes: only ASCII is the same in all of its encodings.
  const hex = (each) => each.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')
  return plain.replaceAll(/\P{ASCII}/gu, (each) => `\\[u${hex(each)}]`)
}
