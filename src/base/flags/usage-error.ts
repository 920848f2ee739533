import { oneLine, quoted } from '../text/foreign-text.ts'
const MAX_MESSAGE = 2_000
const MAX_TOGETHER = 390

/** The kind of invalid input. */
export type UsageCode =
  | 'NO_COMMAND'
  | 'NOT_INSTALLED'
  | 'UNKNOWN_COMMAND'
  | 'UNKNOWN_OPTION'
  | 'MISSING_VALUE'
  | 'UNEXPECTED_ARGUMENT'
  | 'INVALID_VALUE'
  | 'INVALID_ADDRESS'
  | 'INVALID_COMBINATION'
  | 'LOOP'
  | 'INVALID_FILE'
  | 'CANNOT_LISTEN'
  | 'CANNOT_START'
  | 'PRODUCTION'
  | 'IN_USE'
  | 'OVER_BUDGET'

/** Invalid input on the command line or in the environment: what is wrong, and how to fix it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code: UsageCode

  constructor(code: UsageCode, wrong: string, fix: string) {
    super(oneLine(`${wrong}; ${fix}`, MAX_MESSAGE))
    this.code = code
  }
}

/** Returns one error with the messages of as many as a reader takes in. */
export function allOf(errors: readonly UsageError[]): UsageError {
  return errors.reduce((all, { message }) => {
    const isLong = all.message.length + message.length > MAX_TOGETHER
    return isLong ? all : new UsageError(all.code, all.message, `also ${message}`)
  })
}

/** Returns the error for options that do not fit together. */
export function invalidCombination(wrong: string, fix: string): UsageError {
  return new UsageError('INVALID_COMBINATION', wrong, fix)
}

/** Returns the error for an address or URL that cannot be used. */
export function invalidAddress(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('INVALID_ADDRESS', `${source}: ${wrong}`, fix)
}

/** Returns the error for a file that cannot be used. */
export function invalidFile(wrong: string, fix: string): UsageError {
  return new UsageError('INVALID_FILE', wrong, fix)
}

/** Returns the error for an option or argument that is required. */
export function missing(wrong: string, fix: string): UsageError {
  return new UsageError('MISSING_VALUE', wrong, fix)
}

/** Returns the error for an option that cannot be used. */
export function invalidOption(source: string, wrong: string, fix: string): UsageError {
  return new UsageError('INVALID_VALUE', `${source}: ${wrong}`, fix)
}

/** Returns the error for a value that cannot be used. */
export function invalidValue(
  { text, source }: { readonly text: string; readonly source: string },
  wrong: string,
  fix: string,
): UsageError {
  return invalidOption(source, `${quoted(text)} ${wrong}`, fix)
}
