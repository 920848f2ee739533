import { Command as Parser, CommanderError, Option } from 'commander'
import { nearestName } from '../../base/nearest-name.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { endOfHelp, FAMILIES, type Family, HIDDEN, PROGRAM, SECTIONS } from '../catalog.ts'
import { allOf, missing, UsageError } from '../../base/flags/usage-error.ts'
import type { Asked, Command } from './command.ts'
import { familiarWord } from './familiar-words.ts'
import type { Environment, NamedFlag } from '../../base/flags/flag.ts'

type Named = Pick<Command, 'name' | 'flags'>

/** Returns the parser's error as one line with a fix. */
function commandLineError(error: CommanderError, { name: command, flags }: Named): UsageError {
  const help = helpOf(command)
  const word = /'([^]*)'/.exec(withoutSuggestion(error.message))?.[1] ?? ''
  // The value may be a secret, so it is left out.
  const flag = word.split('=', 1)[0] ?? ''
  const meant = familiarWord(flag, command) ?? suggestion(error.message)
  switch (error.code) {
    case 'commander.unknownOption':
      // The parser does not know a switch that has a value.
      if (flags.some(({ name }) => `--${name}` === flag)) {
        return new UsageError(
          'UNEXPECTED_ARGUMENT',
          `${flag} takes no value`,
          `use ${flag} without a value`,
        )
      }
      return new UsageError('UNKNOWN_OPTION', `unknown option ${quoted(flag)}`, meant ?? help)
    case 'commander.unknownCommand': {
      const fix = meant ?? (command === 'run' ? 'see squall --help' : help)
      return new UsageError('UNKNOWN_COMMAND', `unknown command ${quoted(word)}`, fix)
    }
    case 'commander.optionMissingArgument': {
      const name = /--[a-z-]+/.exec(word)?.[0] ?? word
      return missing(`${name} requires a value`, help)
    }
    // No command was named: the parser would print its help as an error.
    case 'commander.help':
      return command === 'run'
        ? new UsageError(
            'NO_COMMAND',
            'no command',
            'start a sidecar with squall run, or see squall --help',
          )
        : new UsageError('NO_COMMAND', `${command}: no command`, help)
    default:
      return new UsageError('UNEXPECTED_ARGUMENT', withoutSuggestion(error.message), help)
  }
}

const TARGET = 'use -t WORD for a sidecar, -n WORD for a namespace'
const FORMS: Readonly<Record<string, string>> = {
  'fault add': 'use --fault WORD for a fault, --tool WORD for a tool',
  stop: TARGET,
  resume: TARGET,
}

/** Returns the error for a word that belongs to no option, and names no command below this one. */
function unexpectedArgument(text: string, { name, flags }: Command, below: Parser): UsageError {
  const known = below.commands.map((each) => each.name())
  const near = flags.some((flag) => flag.name === text) ? `--${text}` : nearestName(text, known)
  const other = FORMS[name]?.replaceAll('WORD', () => text) ?? helpOf(name)
  const fix = near === undefined ? other : `did you mean ${near}?`
  return new UsageError('UNEXPECTED_ARGUMENT', `unexpected argument ${quoted(text)}`, fix)
}

function helpOf(command: string): string {
  return `see squall ${command} --help`
}

function withoutSuggestion(message: string): string {
  const at = message.lastIndexOf('\n(Did you mean ')
  return (at === -1 ? message : message.slice(0, at)).replace(/^error: /, '')
}

function suggestion(message: string): string | undefined {
  const match = /\n\(Did you mean (?:one of )?([a-z, -]+)\?\)$/.exec(message)
  return match?.[1] === undefined ? undefined : `did you mean ${match[1].split(', ')[0]}?`
}

/** The result of parsing a command line: a command, or a text for standard output. */
export type Invocation = Asked | { readonly kind: 'print'; readonly text: string }

const HELP_WIDTH = 100

/** Parses arguments that name one of the commands. Throws nothing but a `UsageError`. */
export function parseAmong(
  commands: readonly Command[],
  args: readonly string[],
  env: Environment,
  version: string,
): Invocation {
  let printed = ''
  let asked: (() => Asked) | undefined
  const words = usual(args, commands)
  const program = createProgram(version, (text) => (printed += text), args.includes('--all'))
  const known = commands.filter(({ name }) => name.split(' ')[0] === words[0])
  // After the name of a command the parser never reads the options of another one.
  for (const command of known.length > 0 ? known : commands) {
    addCommand(program, command, env, (ask) => (asked = ask))
  }
  for (const [section, names] of Object.entries(SECTIONS)) {
    const isIn = (each: Parser): boolean => Object.hasOwn(names, each.name())
    for (const each of program.commands.filter(isIn)) each.helpGroup(section)
  }
  try {
    program.parse(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { kind: 'print', text: printed }
    const parse = (rest: readonly string[]): unknown => parseAmong(commands, rest, env, version)
    const name = named(args, commands).join(' ') || 'run'
    const command = commands.find((each) => each.name === name) ?? { name, flags: [] }
    throw allErrors(error, commandLineError(error, command), args, parse)
  }
  return asked?.() ?? { kind: 'print', text: printed }
}

/** Returns the error with that of the rest of the line; what is missing may be what was unknown. */
function allErrors(
  error: CommanderError,
  first: UsageError,
  args: readonly string[],
  parse: (rest: readonly string[]) => unknown,
): UsageError {
  const option = /'([^]*)'/.exec(error.message)?.[1] ?? ''
  const at = args.indexOf(option)
  if (error.code !== 'commander.unknownOption' || at === -1) return first
  const hasValue = !option.includes('=') && args[at + 1]?.startsWith('-') === false
  try {
    parse(args.toSpliced(at, hasValue ? 2 : 1))
  } catch (other) {
    if (!(other instanceof UsageError)) throw other
    if (!['MISSING_VALUE', 'NO_COMMAND'].includes(other.code)) return allOf([first, other])
  }
  return first
}

/**
 * Returns `help NAME` as `NAME --help`, `version` and `-V` as `-v`, and an unknown command without
 * its `--help`.
 */
function usual(args: readonly string[], commands: readonly Command[]): readonly string[] {
  const [first = '', ...rest] = args
  if (first === '-V' || first === 'version') return ['-v', ...rest]
  if (first === 'help') {
    if (rest.length === 0 || rest[0] === '--all') return ['--help']
    if (rest[0] === 'version') return usual(rest, commands)
    const isKnown = commands.some(({ name }) => name.split(' ')[0] === rest[0])
    return isKnown ? usual([...rest, '--help'], commands) : rest
  }
  if (!args.includes('--help') && !args.includes('-h')) return args
  // The parser would print the help of the program, or of the command above.
  const known = args.slice(0, named(args, commands).length)
  const wrong = args[known.length]
  const start = [...known, ''].join(' ')
  const hasBelow = known.length === 0 || commands.some(({ name }) => name.startsWith(start))
  return hasBelow && wrong?.startsWith('-') === false ? [...known, wrong] : args
}

function createProgram(version: string, print: (text: string) => void, all: boolean): Parser {
  const hidden = all ? [] : HIDDEN
  const program = new Parser('squall')
    .version(version, '-v, --version', 'print the version')
    .helpCommand(false)
    .helpOption('-h, --help', 'print this help; squall help --all has every command')
    .enablePositionalOptions()
    .exitOverride()
    .configureHelp({
      visibleCommands: ({ commands }) =>
        commands.filter((each) => !hidden.includes(each.helpGroup())),
    })
    .configureOutput({
      writeOut: print,
      // Errors reach the caller as exceptions.
      writeErr: () => {},
      getOutHelpWidth: () => HELP_WIDTH,
      getOutHasColors: () => false,
    })
  describe(program, PROGRAM)
  return program
}

/** Adds the description, and the end of the help. */
function describe(parser: Parser, family: Family): void {
  parser.description(family.description).addHelpText('after', endOfHelp(family))
}

/** Returns the parser of the first words of commands; its help lists the commands below. */
function parentOf(path: readonly string[], program: Parser): Parser {
  if (path.length === 0) return program
  const parent = parentOf(path.slice(0, -1), program)
  const known = parent.commands.find((each) => each.name() === path.at(-1))
  if (known !== undefined) return known
  const family = parent.command(path.at(-1)!).helpCommand(false)
  describe(family, FAMILIES[path.join(' ')]!)
  return family
}

function addCommand(
  program: Parser,
  command: Command,
  env: Environment,
  chosen: (ask: () => Asked) => void,
): void {
  const { name, operands, flags, note } = command
  const path = name.split(' ')
  const parent = parentOf(path.slice(0, -1), program)
  const parser = parent.command(path.at(-1)!).allowExcessArguments()
  if (note !== '') parser.addHelpText('after', note)
  describe(parser, command)
  const raw = new Map<string, string[]>()
  for (const spec of flags) addFlag(parser, spec, raw)
  if (operands !== undefined) {
    parser.arguments(operands.form).exitOverride((error) => {
      // The command's own error names the next step.
      if (error.code === 'commander.missingArgument') command.ask(raw, env, parser.args)
      throw error
    })
  }
  parser.action(() => {
    const extra = parser.args[operands?.most ?? 0]
    if (extra !== undefined) throw unexpectedArgument(extra, command, parser)
    chosen(() => command.ask(raw, env, parser.args))
  })
}

/** Returns the words that name a command, or the first ones of several. */
function named(args: readonly string[], commands: readonly Command[]): readonly string[] {
  const isNamed = (count: number): boolean => {
    const start = [...args.slice(0, count), ''].join(' ')
    return commands.some(({ name }) => `${name} `.startsWith(start))
  }
  let count = 0
  while (count < args.length && isNamed(count + 1)) count++
  return args.slice(0, count)
}

function addFlag(parser: Parser, spec: NamedFlag, raw: Map<string, string[]>): void {
  const { name, value, help } = spec
  const note = spec.default === undefined ? '' : ` (default: ${spec.default})`
  const none = spec.default === undefined ? `--${name}` : `--${name} [boolean]`
  const form = value === undefined ? none : `--${name} <${value}>`
  const short = spec.short === undefined ? '' : `-${spec.short}, `
  parser.addOption(new Option(`${short}${form}`, `${help}${note}`).helpGroup(spec.group))
  // Values are collected unparsed: they are parsed together with the environment.
  parser.on(`option:${name}`, (text?: string) => {
    raw.set(name, [...(raw.get(name) ?? []), text ?? 'true'])
  })
}
