import type { Environment } from '../../../src/base/flags/flag.ts'
import { type Invocation, parseAmong } from '../../../src/cli/flags/command-parser.ts'
import { allCommands } from '../../../src/cli/squall.ts'

/** All commands of the program, with those of packages. */
export const COMMANDS = await allCommands()

/** Parses the arguments after the program's name. Throws nothing but a `UsageError`. */
export function parseCommandLine(
  args: readonly string[],
  env: Environment,
  version: string,
): Invocation {
  return parseAmong(COMMANDS, args, env, version)
}

/** Returns the request of a command line, as its command parses it. */
export function asked(args: readonly string[], env: Environment = {}): unknown {
  const invocation = parseCommandLine(args, env, '0.0.0')
  if (invocation.kind !== 'command') throw new Error(`not a command: ${args.join(' ')}`)
  return invocation.request
}

/** Returns the request of a command for options with raw values, which may begin with a dash. */
export function askedBy(
  command: string,
  flags: Readonly<Record<string, string | readonly string[]>>,
  env: Environment = {},
): unknown {
  const raw = new Map(Object.entries(flags).map(([name, value]) => [name, [value].flat()]))
  const found = COMMANDS.find(({ name }) => name === command)
  if (found === undefined) throw new Error(`no command ${command}`)
  return found.ask(raw, env, []).request
}
