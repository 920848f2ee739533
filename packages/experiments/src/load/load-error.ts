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
  | 'INVALID_INPUT'
  | 'CANNOT_MERGE'
  | 'NO_VERDICTS'

/** Reports why a load could not begin, and how to fix it. */
export class LoadError extends Error {
  override readonly name = 'LoadError'
  readonly code: LoadErrorCode
  readonly wrong: string
  readonly fix: string

  constructor(code: LoadErrorCode, wrong: string, fix: string) {
    super(`${wrong}; ${fix}`)
    this.code = code
    this.wrong = wrong
    this.fix = fix
  }
}
