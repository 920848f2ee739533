import type { FlagSpec, Environment, RawFlags } from './flag-values.ts'

/** Declares one command of the program. */
interface CommandSpec<Request> {
  /** One word, or two as in `report merge`. */
  readonly name: string
  readonly description: string
  /** Command lines without the program's name. */
  readonly examples: readonly string[]
  /** The path of the page in docs. */
  readonly page: string
  readonly flags: readonly FlagSpec[]
  /** The form of the arguments after the options, and their maximum number. */
  readonly operands?: { readonly form: string; readonly most: number }
  /** The last paragraph of the help. */
  readonly note?: string
  /** False where options come from the command line alone. */
  readonly fromEnvironment?: false
  /** Checks flags, environment and operands. Throws nothing but a `UsageError`. */
  parse(raw: RawFlags, env: Environment, operands: readonly string[]): Request
  /** Loads the command's modules and runs it; returns the exit code. */
  start(request: Request): Promise<number>
}

/** A command without the type of its request. */
export interface Command {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly page: string
  readonly flags: readonly FlagSpec[]
  readonly operands: { readonly form: string; readonly most: number } | undefined
  readonly note: string
  readonly fromEnvironment: boolean
  ask(raw: RawFlags, env: Environment, operands: readonly string[]): Asked
}

/** A parsed and checked command, ready to run. */
export interface Asked {
  readonly kind: 'command'
  readonly name: string
  readonly request: unknown
  start(): Promise<number>
}

/** Hides the type of a command's request, for the list of commands. */
export function defineCommand<Request>(spec: CommandSpec<Request>): Command {
  const {
    name,
    description,
    examples,
    page,
    flags,
    operands,
    note = '',
    fromEnvironment = true,
  } = spec
  return {
    name,
    description,
    examples,
    page,
    flags,
    operands,
    note,
    fromEnvironment,
    ask: (raw, env, words) => {
      const request = spec.parse(raw, env, words)
      return { kind: 'command', name, request, start: () => spec.start(request) }
    },
  }
}
