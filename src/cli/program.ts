import { Command, CommanderError, Option } from 'commander'
import { commandLineError, type CommandName, unexpectedArgument } from './commander-error.ts'
import { type DemoOptions, parseDemoOptions } from './demo-options.ts'
import { DEMO_FLAGS, type FlagSpec, RUN_FLAGS } from './flag-table.ts'
import type { Environment, RawFlags } from './flag-values.ts'
import { EXPLAIN_FLAGS, VALIDATE_FLAGS } from './rules-flags.ts'
import { type ExplainRequest, parseExplain } from './explain-options.ts'
import { parseValidate, type ValidateRequest } from './rules-options.ts'
import { parseRunOptions, type RunOptions } from './run-options.ts'

/** What a command line asks for. */
export type Invocation =
  | { readonly kind: 'run'; readonly options: RunOptions }
  | { readonly kind: 'demo'; readonly options: DemoOptions }
  | { readonly kind: 'validate'; readonly request: ValidateRequest }
  | { readonly kind: 'explain'; readonly request: ExplainRequest }
  | { readonly kind: 'schema' }
  /** Help or the version, for standard output. */
  | { readonly kind: 'print'; readonly text: string }

const RUN = {
  name: 'run',
  description: 'take traffic on one address and pass it to the app on another',
} as const
const DEMO = {
  name: 'demo',
  description: 'see it work on this machine in seconds: an app, Squall in front of it, and clients',
} as const
const VALIDATE = {
  name: 'validate',
  description: 'check rules files and directories of them, - being standard input',
  operands: { form: '[paths...]', most: Infinity },
} as const
const SCHEMA = {
  name: 'schema',
  description: 'print the JSON Schema of rules files, for editors',
} as const
const EXPLAIN = {
  name: 'explain',
  description:
    'say which rules of a file or directory match a call, what they draw, and what their faults would do to it',
  operands: { form: '[path]', most: 1 },
} as const
const COMMANDS = [RUN, DEMO, VALIDATE, SCHEMA, EXPLAIN]
const HELP_WIDTH = 100
const ENV_NOTE = `
Each option can also be given as an environment variable: --max-head as SQUALL_MAX_HEAD, switches
as true or false, repeated options separated by commas. The command line wins.
Sizes: 1024, 64KiB, 4MiB. Durations: 300ms, 5s, 10m, 1h.`

/** Reads the arguments after the program's name. Throws nothing but a `UsageError`. */
export function parseCommandLine(
  args: readonly string[],
  env: Environment,
  version: string,
): Invocation {
  let printed = ''
  const given: { run?: RawFlags; demo?: RawFlags; other?: Invocation } = {}
  const program = createProgram(version, (text) => (printed += text))
  addCommand(program, RUN, RUN_FLAGS, (flags) => (given.run = flags)).addHelpText('after', ENV_NOTE)
  addCommand(program, DEMO, DEMO_FLAGS, (flags) => (given.demo = flags))
  addCommand(program, VALIDATE, VALIDATE_FLAGS, (flags, files) => {
    given.other = { kind: 'validate', request: parseValidate(flags, files) }
  })
  addCommand(program, SCHEMA, [], () => (given.other = { kind: 'schema' }))
  addCommand(program, EXPLAIN, EXPLAIN_FLAGS, (flags, files) => {
    given.other = { kind: 'explain', request: parseExplain(flags, files) }
  })
  try {
    program.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) throw commandLineError(error, commandOf(args))
  }
  if (given.run !== undefined) return { kind: 'run', options: parseRunOptions(given.run, env) }
  if (given.demo !== undefined) return { kind: 'demo', options: parseDemoOptions(given.demo, env) }
  if (given.other !== undefined) return given.other
  return { kind: 'print', text: printed }
}

function createProgram(version: string, print: (text: string) => void): Command {
  return new Command('squall')
    .description(
      'A sidecar that takes over the MCP port of a pod and turns chosen calls into failures.',
    )
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .exitOverride()
    .configureOutput({
      writeOut: print,
      // Errors reach the caller as exceptions.
      writeErr: () => {},
      getOutHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
    })
}

interface CommandSpec {
  readonly name: CommandName
  readonly description: string
  /** How words that belong to no option are shown, and how many there may be. */
  readonly operands?: { readonly form: string; readonly most: number }
}

function addCommand(
  program: Command,
  { name, description, operands }: CommandSpec,
  flags: readonly FlagSpec[],
  chosen: (raw: RawFlags, operands: readonly string[]) => void,
): Command {
  const command = program.command(name).description(description).allowExcessArguments()
  if (operands !== undefined) command.argument(operands.form)
  const raw = new Map<string, string[]>()
  for (const spec of flags) addFlag(command, spec, raw)
  return command.action(() => {
    const extra = command.args[operands?.most ?? 0]
    if (extra !== undefined) throw unexpectedArgument(extra, name)
    chosen(raw, command.args)
  })
}

/** Whose help a complaint points at. */
function commandOf(args: readonly string[]): CommandName {
  return COMMANDS.find(({ name }) => name === args[0])?.name ?? RUN.name
}

function addFlag(command: Command, spec: FlagSpec, raw: Map<string, string[]>): void {
  const { name, value, help } = spec
  const note = spec.default === undefined ? '' : ` (default: ${spec.default})`
  const form = value === undefined ? `--${name}` : `--${name} <${value}>`
  command.addOption(new Option(form, `${help}${note}`).helpGroup(spec.group))
  // Collected as they stand: what they mean is checked in one place, for the environment too.
  command.on(`option:${name}`, (text?: string) => {
    raw.set(name, [...(raw.get(name) ?? []), text ?? 'true'])
  })
}
