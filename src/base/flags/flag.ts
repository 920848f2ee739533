import { allOf, UsageError } from './usage-error.ts'

/** A value with its source, for messages. */
export interface FlagInput {
  readonly text: string
  /** `--max-header-size`, or `SQUALL_MAX_HEADER_SIZE` for a value from the environment. */
  readonly source: string
  /** True where the user wrote nothing. */
  readonly isDefault?: boolean
}

/**
 * Declares an option: how the help shows it, and how its values are parsed. Its name is its key, in
 * kebab case.
 */
export interface Flag<Value> {
  readonly help: string
  readonly group: string
  /** The one-letter form. */
  readonly short?: string
  /** The placeholder of its value; none for a switch. */
  readonly value?: string
  readonly repeatable?: boolean
  readonly default?: string
  /** Parses the given texts, of which there are none without a default. Throws a `UsageError`. */
  readonly read: (given: readonly FlagInput[], name: string) => Value
}

/** A flag before it is put into a group of the help. */
export type Kind<Value> = Omit<Flag<Value>, 'group'>

export type Flags = Readonly<Record<string, Flag<unknown>>>

/** The parsed values of flags. */
export type Values<Of extends Flags> = {
  readonly [Key in keyof Of]: Of[Key] extends Flag<infer Value> ? Value : never
}

/** Puts flags into one group of the help. */
export function group<Of extends Readonly<Record<string, Kind<unknown>>>>(
  title: string,
  flags: Of,
) {
  const grouped = Object.entries(flags).map(([key, flag]) => [key, { ...flag, group: title }])
  return Object.fromEntries(grouped) as {
    readonly [Key in keyof Of]: Of[Key] extends Kind<infer Value> ? Flag<Value> : never
  }
}

/** A flag with its name, as `max-header-size`. */
export interface NamedFlag extends Flag<unknown> {
  readonly name: string
}

export function namedFlags(flags: Flags): readonly NamedFlag[] {
  return Object.entries(flags).map(([key, flag]) => ({ name: nameOf(key), ...flag }))
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The values of the options on the command line by name, in order. */
export type RawFlags = ReadonlyMap<string, readonly string[]>

/**
 * Parses the value of each flag: from the command line, else from the environment, else the
 * default.
 */
export function readFlags<Of extends Flags>(
  flags: Of,
  raw: RawFlags,
  env: Environment,
): Values<Of> {
  const errors: UsageError[] = []
  const read = namedFlags(flags).map((flag) => {
    try {
      return flag.read(given(flag, raw.get(flag.name), env), flag.name)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      errors.push(error)
      return undefined
    }
  })
  if (errors.length > 0) throw allOf(errors)
  return Object.fromEntries(Object.keys(flags).map((key, at) => [key, read[at]])) as Values<Of>
}

/** Returns the values of some of the flags. */
export function only<Of extends Flags>(values: Values<Of>, flags: Of): Values<Of> {
  return Object.fromEntries(Object.keys(flags).map((key) => [key, values[key]])) as Values<Of>
}

function given(
  flag: NamedFlag,
  raw: readonly string[] | undefined,
  env: Environment,
): readonly FlagInput[] {
  const source = `--${flag.name}`
  if (raw !== undefined) return raw.map((text) => ({ text, source }))
  const variable = envName(flag.name)
  const text = env[variable]
  // Templates set an empty variable for 'not set'.
  if (text !== undefined && text !== '') {
    const texts = flag.repeatable === true ? text.split(',').map((part) => part.trim()) : [text]
    return texts.map((part) => ({ text: part, source: variable }))
  }
  return flag.default === undefined ? [] : [{ text: flag.default, source, isDefault: true }]
}

function nameOf(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Returns the environment variable of an option. */
export function envName(flag: string): string {
  return `SQUALL_${flag.toUpperCase().replaceAll('-', '_')}`
}
