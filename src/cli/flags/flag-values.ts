import { badValue, missing } from './usage-error.ts'

/** Declares one option of a command. */
export interface FlagSpec {
  readonly name: string
  /** The one-letter form. */
  readonly short?: string
  /** The placeholder of its value; none for a switch. */
  readonly value?: string
  readonly repeatable?: boolean
  readonly default?: string
  readonly group: string
  readonly help: string
}

/** The help of a switch; or placeholder, help and further settings of an option with a value. */
type FlagRow =
  | string
  | readonly [
      value: string,
      help: string,
      rest?: Pick<FlagSpec, 'short' | 'repeatable' | 'default'>,
    ]

type FlagNamed<Name> = FlagSpec & { readonly name: Name }

/** Declares the options of one group of the help. */
export function flagGroup<const Rows extends Readonly<Record<string, FlagRow>>>(
  group: string,
  rows: Rows,
): readonly { [Name in keyof Rows]: FlagNamed<Name> }[keyof Rows][] {
  const specs = Object.entries(rows).map(([name, row]): FlagSpec => {
    const [value, help, rest] = typeof row === 'string' ? ['', row] : row
    return { name, group, help, ...(value !== '' && { value }), ...rest }
  })
  return specs
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A value with its source, for messages. */
export interface Given {
  readonly text: string
  /** `--max-header-size`, or `SQUALL_MAX_HEADER_SIZE` for a value from the environment. */
  readonly source: string
}

/** The values of the options on the command line, in order. */
export type RawFlags = ReadonlyMap<string, readonly string[]>

/** The value of each option: from the command line, else from the environment, else the default. */
export class FlagValues<Name extends string> {
  readonly #given = new Map<string, readonly Given[]>()

  constructor(
    specs: readonly (FlagSpec & { readonly name: Name })[],
    raw: RawFlags,
    env: Environment,
  ) {
    for (const spec of specs) this.#given.set(spec.name, given(spec, raw.get(spec.name), env))
  }

  all(name: Name): readonly Given[] {
    return this.#given.get(name) ?? []
  }

  /** Returns the last value: later options override earlier ones. */
  optional(name: Name): Given | undefined {
    return this.all(name).at(-1)
  }

  /** Returns the parsed value; undefined without a value. */
  parsed<T>(name: Name, parse: (given: Given) => T): T | undefined {
    const value = this.optional(name)
    return value && parse(value)
  }

  /** Returns the value; throws a `UsageError` without one. */
  required(name: Name): Given {
    const value = this.optional(name)
    if (value === undefined) throw missing(`--${name} is missing`, 'add it')
    return value
  }

  switch(name: Name): boolean {
    const value = this.optional(name)
    if (value === undefined || value.text === 'false' || value.text === '0') return false
    if (value.text === 'true' || value.text === '1') return true
    throw badValue(value, 'is neither true nor false', 'use true or false')
  }
}

function given(
  spec: FlagSpec,
  raw: readonly string[] | undefined,
  env: Environment,
): readonly Given[] {
  const flag = `--${spec.name}`
  if (raw !== undefined) return raw.map((text) => ({ text, source: flag }))
  const variable = envName(spec.name)
  const text = env[variable]
  // Templates set an empty variable for 'not set'.
  if (text !== undefined && text !== '') {
    const texts = spec.repeatable === true ? text.split(',').map((part) => part.trim()) : [text]
    return texts.map((part) => ({ text: part, source: variable }))
  }
  return spec.default === undefined ? [] : [{ text: spec.default, source: flag }]
}

/** Returns the environment variable of an option. */
export function envName(flag: string): string {
  return `SQUALL_${flag.toUpperCase().replaceAll('-', '_')}`
}
