import { type Invocation, parseAmong } from './flags/command-parser.ts'
import { COMMANDS } from './commands/index.ts'
import type { Environment } from './flags/flag-values.ts'

/** Reads the arguments after the program's name. Throws nothing but a `UsageError`. */
export function parseCommandLine(
  args: readonly string[],
  env: Environment,
  version: string,
): Invocation {
  return parseAmong(COMMANDS, args, env, version)
}
