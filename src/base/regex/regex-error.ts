/** A regular expression that is not taken, with the place in it that is at fault. */
export class RegexError extends Error {
  override readonly name = 'RegexError'
  readonly code = 'REGEX_REFUSED'
  readonly pattern: string
  /** Offset in the pattern, from 0. */
  readonly position: number

  constructor(message: string, pattern: string, position: number) {
    super(`${message} (at character ${position + 1})`)
    this.pattern = pattern
    this.position = position
  }
}
