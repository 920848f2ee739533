import type { Environment } from '../../src/cli/flags/flag-values.ts'
import { parseCommandLine } from '../../src/cli/commands/index.ts'

/** What the command of a command line is asked, as that command reads it. */
export function asked(args: readonly string[], env: Environment = {}): unknown {
  const invocation = parseCommandLine(args, env, '0.0.0')
  if (invocation.kind !== 'command') throw new Error(`not a command: ${args.join(' ')}`)
  return invocation.request
}
