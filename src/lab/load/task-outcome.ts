import type { CallOutcome } from './call-runner.ts'

export interface TaskOutcome {
  /** A critical call failed or was late, or a response without an error was wrong. */
  readonly failed: boolean
  /** The task succeeded, but an optional call failed. */
  readonly degraded: boolean
  /** A call carried the marker of a fault. */
  readonly injected: boolean
  /** A fault was injected, the client saw no critical error, and an affected result is wrong. */
  readonly silent: boolean
  /** A fault was injected, and the client got an error. */
  readonly safe: boolean
}

/** A call of a task; without an outcome when the call was not sent. */
export interface TaskCall {
  readonly critical: boolean
  readonly outcome: CallOutcome | undefined
}

export function taskOutcome(calls: readonly TaskCall[]): TaskOutcome {
  const reported = calls.some(({ critical, outcome }) => critical && outcome?.responded !== true)
  const late = calls.some(({ critical, outcome }) => critical && outcome?.inTime === false)
  const wrong = calls.some(({ outcome }) => isWrong(outcome))
  const injected = calls.some(({ outcome }) => outcome?.injected === true)
  const injectedAndWrong = calls.some(
    ({ outcome }) => outcome?.injected === true && isWrong(outcome),
  )
  const failed = reported || late || wrong
  const missing = calls.some(({ critical, outcome }) => !critical && outcome?.success !== true)
  return {
    failed,
    degraded: !failed && missing,
    injected,
    silent: !reported && injectedAndWrong,
    safe: injected && reported,
  }
}

/** Returns true for a wrong result without an error, which a client would use unchecked. */
function isWrong(outcome: CallOutcome | undefined): boolean {
  return outcome?.responded === true && !outcome.correct
}
