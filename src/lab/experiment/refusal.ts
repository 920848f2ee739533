/** Why an experiment is not begun. The codes are stable. */
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

/** The code of one reason. */
export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** One reason not to begin: what is wrong, and how to fix it. */
export interface Refusal {
  readonly code: RefusalCode
  readonly wrong: string
  readonly fix: string
  /** The path in the plan, for a problem of the plan. */
  readonly path?: readonly (string | number)[]
}

/** An experiment that was not begun. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly refusals: readonly Refusal[]

  constructor(...refusals: readonly Refusal[]) {
    super(refusals.map(({ code, wrong, fix }) => `${code}: ${wrong}; ${fix}`).join('\n'))
    this.refusals = refusals
  }
}

/** Short for one reason alone. */
export function refuse(code: RefusalCode, wrong: string, fix: string): RefusedError {
  return new RefusedError({ code, wrong, fix })
}
