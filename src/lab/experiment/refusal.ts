/** The reasons to reject an experiment. The codes are stable. */
const REFUSAL_CODES = [
  'NO_GATE',
  'NO_ENVIRONMENT',
  'PRODUCTION',
  'STAGES_NOT_ASCENDING',
  'STAGE_SKIPPED',
  'RULES_HIT_NOTHING',
  'RULES_STAGED',
  'EXPERIMENT_RUNNING',
  'SIDECAR_UNREACHABLE',
  'ENVIRONMENT_MISMATCH',
  'SIDECAR_DISARMED',
  'OTHER_RULES',
  'RULES_NOT_ACTIVE',
  'TARGET_UNUSABLE',
  'TOOLS_NOT_NAMED',
  'NOT_STEADY',
  'PID_FILE_UNSAFE',
] as const

export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** One reason not to begin, and how to fix it. */
export interface Refusal {
  readonly code: RefusalCode
  readonly wrong: string
  readonly fix: string
  /** The path in the plan, if the plan is the cause. */
  readonly path?: readonly (string | number)[]
}

/** Reports why an experiment may not begin. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly refusals: readonly Refusal[]

  constructor(...refusals: readonly Refusal[]) {
    super(refusals.map(({ code, wrong, fix }) => `${code}: ${wrong}; ${fix}`).join('\n'))
    this.refusals = refusals
  }
}

/** Returns an error with a single reason. */
export function refuse(code: RefusalCode, wrong: string, fix: string): RefusedError {
  return new RefusedError({ code, wrong, fix })
}
