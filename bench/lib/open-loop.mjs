import { fileURLToPath } from 'node:url'
import { runToEnd } from './children.mjs'
import { median, quantile } from './stats.mjs'

const SENDER = fileURLToPath(new URL('./open-loop-sender.mjs', import.meta.url))

/**
 * The share of the calls that were delayed, and the error of their delays in milliseconds, less the
 * median time of a call that is not delayed.
 * @typedef {object} Late
 * @property {number} share
 * @property {number} p50Ms
 * @property {number} p99Ms
 */

/**
 * Sends small calls, or those of `exchange`, at a fixed rate regardless of their results, from a
 * process of its own.
 * @param {{ port: number, rate: number, seconds: number, delayMs?: number,
 *   exchange?: { request: string, response: string } }} load
 * @returns {Promise<import('./rounds.mjs').Loaded>}
 */
export async function openLoop({ port, rate, seconds, delayMs, exchange }) {
  const args = [SENDER, JSON.stringify({ port, rate, seconds, exchange })]
  const report = JSON.parse(await runToEnd({ file: process.execPath, args }))
  return summary(report, delayMs)
}

/**
 * Summarizes the report of a sender. With a delay, the calls that took as long are reported by
 * themselves and the other figures are about the rest.
 * @param {{ calls: number, errors: number, seconds: number, tookMs: number[] }} report
 * @param {number} [delayMs]
 * @returns {import('./rounds.mjs').Loaded}
 */
export function summary({ calls, errors, seconds, tookMs }, delayMs) {
  const sorted = [...tookMs].sort((a, b) => a - b)
  // A timer may end a little early; nothing else takes nearly as long.
  const isLate = (/** @type {number} */ ms) => delayMs !== undefined && ms >= delayMs * 0.9
  const plain = sorted.filter((ms) => !isLate(ms))
  const figures = {
    calls,
    errors,
    callsPerSecond: calls / seconds,
    p50Ms: quantile(plain, 0.5),
    p99Ms: quantile(plain, 0.99),
    p999Ms: quantile(plain, 0.999),
  }
  if (delayMs === undefined) return figures
  const off = sorted.filter(isLate).map((ms) => ms - delayMs - median(plain))
  const late = {
    share: off.length / Math.max(sorted.length, 1),
    p50Ms: quantile(off, 0.5),
    p99Ms: quantile(off, 0.99),
  }
  return { ...figures, late }
}
