/** What the project holds itself to. Only `--check` makes a missed bar an error. */
export const BARS = {
  /** CPU per call of squall, as a multiple of the undici baseline's in the same run. */
  cpuAgainstBaseline: 1.15,
  /** CPU per call with 20 rules that match nothing, as a multiple of that without rules. */
  unmatchedRules: 1.05,
  /** CPU per call with metrics, as a multiple of that with telemetry that does nothing. */
  metrics: 1.05,
  /** Resident memory right after a million small calls. */
  millionCallsMiB: 75,
  /** Resident memory for one more SSE stream held open. */
  heldStreamKiB: 12,
}

/**
 * A bar, what was measured, and whether it holds.
 * @typedef {object} Verdict
 * @property {string} what
 * @property {number} measured
 * @property {number} bar
 * @property {boolean} holds
 */

/** @param {string} what @param {number} measured @param {number} bar @returns {Verdict} */
export function verdict(what, measured, bar) {
  return { what, measured, bar, holds: measured <= bar }
}

/** @param {Verdict} v */
export function verdictLine({ what, measured, bar, holds }) {
  return `${holds ? 'holds' : 'MISSED'}: ${what} ${measured.toFixed(2)} (bar: at most ${bar})`
}
