/** Reports a rejected regular expression, with the offset of the error. */
export class RegexError extends Error {
  override readonly name = 'RegexError'
  readonly code = 'REGEX_REJECTED'
  readonly pattern: string
  /** Offset in the pattern, from 0. */
  readonly position: number

  constructor(message: string, pattern: string, position: number) {
    super(`${message} (at character ${position + 1})`)
    this.pattern = pattern
    this.position = position
  }
}
