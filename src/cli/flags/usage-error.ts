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

/** Returns the error for a value that cannot be used. */
export function badValue(
  { text, source }: { readonly text: string; readonly source: string },
  wrong: string,
  fix: string,
): UsageError {
  return new UsageError('BAD_VALUE', `${source}: ${quoted(text)} ${wrong}`, fix)
}
