/** Why a load could not begin. */
export type LoadErrorCode =
  | 'UNREACHABLE'
  | 'NOT_MCP'
  | 'NEEDS_AUTH'
  | 'HANDSHAKE_FAILED'
  | 'NO_TOOLS'
  | 'UNKNOWN_TOOL'
  | 'TOOLS_NOT_NAMED'
  | 'CANNOT_MAKE_ARGUMENTS'
  | 'CLIENT_MISSING'
  | 'BAD_INPUT'
  | 'CANNOT_MERGE'

/** A load that could not begin: what is wrong, and how to mend it. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
  readonly code: LoadErrorCode
  readonly wrong: string
  readonly mend: string

  constructor(code: LoadErrorCode, wrong: string, mend: string) {
    super(`${wrong}; ${mend}`)
    this.code = code
    this.wrong = wrong
    this.mend = mend
  }
}
