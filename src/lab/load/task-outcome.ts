import type { CallOutcome } from './call-runner.ts'

/** The outcome of a task for its user. */
export interface TaskOutcome {
  /** It did not get what it needed, or got something wrong without an error. */
  readonly failed: boolean
  /** It did not fail, and went without a call that it could do without. */
  readonly degraded: boolean
  /** One of its calls carried the mark of a fault. */
  readonly hit: boolean
  /** A fault had hit, the client saw no error that mattered, and a result that was hit is wrong. */
  readonly silent: boolean
  /** A fault was injected, and the client got an error. */
  readonly safe: boolean
}

/** A call of a task; undefined for one that was not sent. */
export interface TaskCall {
  readonly critical: boolean
  readonly outcome: CallOutcome | undefined
}

/** Derives the outcome of a task from its calls. */
export function taskOutcome(calls: readonly TaskCall[]): TaskOutcome {
  const reported = calls.some(({ critical, outcome }) => critical && outcome?.responded !== true)
  const late = calls.some(({ critical, outcome }) => critical && outcome?.inTime === false)
  const wrong = calls.some(({ outcome }) => isWrong(outcome))
  const hit = calls.some(({ outcome }) => outcome?.hit === true)
  const hitAndWrong = calls.some(({ outcome }) => outcome?.hit === true && isWrong(outcome))
  const failed = reported || late || wrong
  const missing = calls.some(({ critical, outcome }) => !critical && outcome?.success !== true)
  return {
    failed,
    degraded: !failed && missing,
    hit,
    silent: !reported && hitAndWrong,
    safe: hit && reported,
  }
}

/** A response without an error that cannot be trusted: who does not check it goes on with it. */
function isWrong(outcome: CallOutcome | undefined): boolean {
  return outcome?.responded === true && !outcome.correct
}
