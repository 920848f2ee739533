import { findProgram } from './proc.mjs'
import { autocannonLoad } from './autocannon.mjs'
import { wrkLoad } from './wrk.mjs'

/**
 * @typedef {object} Load
 * @property {number} port
 * @property {import('./workloads.mjs').Workload} workload
 * @property {number} connections
 * @property {number} seconds
 * @property {string} directory
 */

/**
 * @typedef {object} LoadResult
 * @property {number} calls
 * @property {number} callsPerSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} p999Ms
 * @property {number} errors
 */

/**
 * The load generator of this machine: wrk when it is installed, as it takes least from the proxy.
 * @returns {{ name: string, run: (load: Load) => Promise<LoadResult> }}
 */
export function loadGenerator() {
  const wrk = findProgram('wrk')
  if (wrk !== undefined) return { name: 'wrk', run: (load) => wrkLoad(wrk, load) }
  return { name: 'autocannon', run: autocannonLoad }
}
