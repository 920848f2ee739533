/** The reasons to reject an experiment. The codes are stable. */
export type RejectionCode =
  | 'NO_GATE'
  | 'NO_ENVIRONMENT'
  | 'PRODUCTION'
  | 'STAGES_NOT_ASCENDING'
  | 'STAGE_SKIPPED'
  | 'RULES_MATCH_NOTHING'
  | 'RULES_STAGED'
  | 'EXPERIMENT_RUNNING'
  | 'OVER_BUDGET'
  | 'SIDECAR_UNREACHABLE'
  | 'ENVIRONMENT_MISMATCH'
  | 'SIDECAR_DISARMED'
  | 'OTHER_RULES'
  | 'RULES_NOT_ACTIVE'
  | 'TARGET_UNUSABLE'
  | 'TOOLS_NOT_NAMED'
  | 'NOT_STEADY'
  | 'PID_FILE_UNSAFE'
  | 'NOT_ENOUGH_PODS'
  | 'POLICY'
  | 'NOT_SEARCHABLE'
  | 'NOT_MODELLED'
  | 'NOT_MEASURED'
  | 'ALERT_ALREADY_FIRES'
  | 'MONITOR_UNREACHABLE'
  | 'NO_VERDICTS'

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

/** Reports that another program has changed the rules. */
export class RulesChangedError extends Error {
  override readonly name = 'RulesChangedError'
}

/**
 * Resolves to the results of all checks. Throws a `RejectedError` with the reasons of all that
 * failed.
 */
export async function allAccepted<Checks extends readonly unknown[]>(
  ...checks: Checks
): Promise<{ -readonly [Index in keyof Checks]: Awaited<Checks[Index]> }> {
  const settled = await Promise.allSettled(checks)
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  const other = errors.find((error) => !(error instanceof RejectedError))
  if (other !== undefined) throw other
  const rejections = errors.flatMap((error) => (error as RejectedError).rejections)
  if (rejections.length > 0) throw new RejectedError(...distinct(rejections))
  return Promise.all(checks)
}

/** Drops what several checks or pods have in common. */
export function distinct(rejections: readonly Rejection[]): readonly Rejection[] {
  return [...new Map(rejections.map((each) => [`${each.code} ${each.wrong}`, each])).values()]
}

/** Returns the error for pods that cannot be read. */
export function podsUnreachable(why: string): RejectedError {
  const fix = 'check sidecar.kubernetes; squall status lists pods with sidecars'
  return rejectionError('SIDECAR_UNREACHABLE', `the pods cannot be read: ${why}`, fix)
}

/** Returns an error with a single reason. */
export function rejectionError(code: RejectionCode, wrong: string, fix: string): RejectedError {
  return new RejectedError({ code, wrong, fix })
}
