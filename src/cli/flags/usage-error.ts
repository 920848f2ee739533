import { oneLine } from '../../base/text/foreign-text.ts'
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
