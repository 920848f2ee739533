import type { Environment } from '../../src/base/flags/flag.ts'
import { type Invocation, parseAmong } from '../../src/cli/flags/command-parser.ts'
import { allCommands } from '../../src/cli/squall.ts'

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
