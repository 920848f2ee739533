/** What kind of bad input it was. */
export type UsageCode =
  | 'NO_COMMAND'
  | 'UNKNOWN_COMMAND'
  | 'UNKNOWN_OPTION'
  | 'MISSING_VALUE'
  | 'UNEXPECTED_ARGUMENT'
  | 'BAD_VALUE'
  | 'BAD_ADDRESS'
  | 'BAD_COMBINATION'
  | 'LOOP'
  | 'BAD_FILE'
  | 'CANNOT_LISTEN'
  | 'PRODUCTION'

/** Bad input on the command line or in the environment: what is wrong, and how to mend it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code: UsageCode

  constructor(code: UsageCode, wrong: string, mend: string) {
    super(oneLine(`${wrong}; ${mend}`))
    this.code = code
  }
}

const MAX_SHOWN = 80

/** A value as it was given, in quotes: cut when it is long, and without anything a terminal obeys. */
export function shown(value: string): string {
  const cut = value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value
  return `"${oneLine(cut)}"`
}

/** The text with control characters and line breaks replaced. */
export function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?')
}
