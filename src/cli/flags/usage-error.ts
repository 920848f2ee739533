import { oneLine, quoted } from '../../base/text/foreign-text.ts'
const MAX_MESSAGE = 2_000

/** The kind of bad input. */
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

/** Bad input on the command line or in the environment: what is wrong, and how to fix it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code: UsageCode

  constructor(code: UsageCode, wrong: string, fix: string) {
    super(oneLine(`${wrong}; ${fix}`, MAX_MESSAGE))
    this.code = code
  }
}

/** Returns the error for options that do not fit together. */
export function badCombination(wrong: string, fix: string): UsageError {
  return new UsageError('BAD_COMBINATION', wrong, fix)
}

/** Returns the error for an address or URL that cannot be used. */
export function badAddress(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('BAD_ADDRESS', `${source}: ${wrong}`, fix)
}

/** Returns the error for a file that cannot be used. */
export function badFile(wrong: string, fix: string): UsageError {
  return new UsageError('BAD_FILE', wrong, fix)
}

/** Returns the error for an option or argument that is required. */
export function missing(wrong: string, fix: string): UsageError {
  return new UsageError('MISSING_VALUE', wrong, fix)
}

/** Returns the error for an option that cannot be used. */
export function badOption(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('BAD_VALUE', `${source}: ${wrong}`, fix)
}

/** Returns the error for a value that cannot be used. */
export function badValue(
  { text, source }: { readonly text: string; readonly source: string },
  wrong: string,
  fix: string,
): UsageError {
  return badOption(source, `${quoted(text)} ${wrong}`, fix)
}
