/** Reports that a tool of the control server refuses a call, and how to continue. */
export class DeniedError extends Error {
  override readonly name = 'DeniedError'
  /** Each with its fix. */
  readonly reasons: readonly string[]
  /** What helps to continue, in lines. */
  help = ''

  constructor(...reasons: readonly string[]) {
    super(reasons.join('\n'))
    this.reasons = reasons
  }
}
