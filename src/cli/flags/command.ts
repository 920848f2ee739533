import {
  envName,
  type Environment,
  type Flags,
  namedFlags,
  type NamedFlag,
  type RawFlags,
  readFlags,
  type Values,
} from '../../base/flags/flag.ts'

/** The context of a command line. */
export interface Context {
  readonly env: Environment
  /** The arguments after the options. */
  readonly operands: readonly string[]
  /** Returns true where an option is on the command line, by its name. */
  readonly names: (flag: string) => boolean
  /** Returns true where an option is on the command line or in the environment. */
  readonly sets: (flag: string) => boolean
}

/** Declares one command of the program. */
interface CommandSpec<Of extends Flags, Request> {
  /** One word, or two as in `load merge`. */
  readonly name: string
  readonly description: string
  /** Command lines without the program's name. */
  readonly examples: readonly string[]
  /** The path of the page in docs. */
  readonly page: string
  readonly flags: Of
  /** The form of the arguments after the options, in brackets if optional, and their number. */
  readonly operands?: { readonly form: string; readonly most: number }
  /** The last paragraph of the help. */
  readonly note?: string
  /** False where options but `--json` come from the command line alone. */
  readonly fromEnvironment?: false
  /** Checks parsed flags together, and operands. Throws nothing but a `UsageError`. */
  readonly parse: (flags: Values<Of>, context: Context) => Request
  /** Loads the command's modules and runs it; returns the exit code. */
  readonly start: (request: Request) => Promise<number>
}

/** A command without the types of its flags and of its request. */
export interface Command {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly page: string
  readonly flags: readonly NamedFlag[]
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

/** Hides the types of a command, for the list of commands. */
export function defineCommand<Of extends Flags, Request>(spec: CommandSpec<Of, Request>): Command {
  const { flags, operands, note = '', fromEnvironment = true, parse, start, ...shown } = spec
  return {
    ...shown,
    operands,
    note,
    fromEnvironment,
    flags: namedFlags(flags),
    ask: (raw, env, words) => {
      // Errors are JSON with this variable, whatever the command: so are its results.
      const { SQUALL_JSON } = env
      const variables: Environment = fromEnvironment ? env : { SQUALL_JSON }
      const names = (flag: string): boolean => raw.has(flag)
      const sets = (flag: string): boolean => names(flag) || Boolean(variables[envName(flag)])
      const values = readFlags(flags, raw, variables)
      const request = parse(values, { env, operands: words, names, sets })
      return { kind: 'command', name: spec.name, request, start: () => start(request) }
    },
  }
}

type Operation<Of extends Flags, Request> = Omit<CommandSpec<Of, Request>, 'start'>

/**
 * Declares a command without what runs it, so that what runs it takes the type of its request from
 * here.
 */
export function operation<Of extends Flags, Request>(
  spec: Operation<Of, Request>,
): Operation<Of, Request> {
  return spec
}

/** The request of an operation. */
export type RequestOf<Of extends { parse: (...all: never) => unknown }> = ReturnType<Of['parse']>

/** Returns the command of an operation, whose module is loaded when it runs. */
export function command<Of extends Flags, Request, Name extends string>(
  spec: Operation<Of, Request>,
  load: () => Promise<Readonly<Record<Name, (request: Request) => number | Promise<number>>>>,
  name: Name,
): Command {
  return defineCommand({ ...spec, start: async (request) => (await load())[name](request) })
}
