/** The reasons to reject an experiment. The codes are stable. */
export type RejectionCode =
  | 'NO_GATE'
  | 'NO_ENVIRONMENT'
  | 'PRODUCTION'
  | 'STAGES_NOT_ASCENDING'
  | 'STAGE_SKIPPED'
  | 'RULES_HIT_NOTHING'
  | 'RULES_STAGED'
  | 'EXPERIMENT_RUNNING'
  | 'SIDECAR_UNREACHABLE'
  | 'ENVIRONMENT_MISMATCH'
  | 'SIDECAR_DISARMED'
  | 'OTHER_RULES'
  | 'RULES_NOT_ACTIVE'
  | 'TARGET_UNUSABLE'
  | 'TOOLS_NOT_NAMED'
  | 'NOT_STEADY'
  | 'PID_FILE_UNSAFE'

/** One reason not to begin, and how to fix it. */
export interface Rejection {
  readonly code: RejectionCode
  readonly wrong: string
  readonly fix: string
  /** The path in the plan, if the plan is the cause. */
  readonly path?: readonly (string | number)[]
}

/** Reports why an experiment may not begin. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError'
  readonly rejections: readonly Rejection[]

  constructor(...rejections: readonly Rejection[]) {
    super(rejections.map(({ code, wrong, fix }) => `${code}: ${wrong}; ${fix}`).join('\n'))
    this.rejections = rejections
  }
}

/** Returns an error with a single reason. */
export function rejectionError(code: RejectionCode, wrong: string, fix: string): RejectedError {
  return new RejectedError({ code, wrong, fix })
}
