import { setTimeout as sleep } from 'node:timers/promises'
import { loadGenerator } from './load.mjs'
import { cpuMicros, memoryMiB } from './proc.mjs'

/**
 * What one peer did in one round.
 * @typedef {import('./load.mjs').LoadResult & { cpuPerCall: number | undefined }} Sample
 */

/**
 * @typedef {object} Measured
 * @property {string} name
 * @property {Sample[]} samples
 * @property {number | undefined} rssPeak
 * @property {number | undefined} rssAfter
 */

const WARM_UP_SECONDS = 2
const REST_BEFORE_MS = 200
const REST_AFTER_MS = 2000

/**
 * Interleaved rounds (A B C, A B C, …): whatever the machine does meanwhile hits all of them.
 * @param {readonly import('./running-peer.mjs').RunningPeer[]} peers
 * @param {{ workload: import('./workloads.mjs').Workload, connections: number, rounds: number,
 *   seconds: number, folder: string, say: (line: string) => void }} plan
 * @returns {Promise<Measured[]>}
 */
export async function measure(peers, plan) {
  const { workload, connections, folder, say } = plan
  const { run } = loadGenerator()
  /** @param {number} port @param {number} seconds */
  const load = (port, seconds) => run({ port, workload, connections, seconds, folder })

  for (const { port } of peers) await load(port, WARM_UP_SECONDS)
  /** @type {Sample[][]} */
  const samples = peers.map(() => [])
  for (let round = 1; round <= plan.rounds; round++) {
    for (const [i, { peer, port, child }] of peers.entries()) {
      await sleep(REST_BEFORE_MS)
      const before = child ? cpuMicros(child.pid) : 0
      const result = await load(port, plan.seconds)
      const spent = child ? cpuMicros(child.pid) - before : undefined
      const cpuPerCall = spent === undefined ? undefined : spent / Math.max(result.calls, 1)
      samples[i]?.push({ ...result, cpuPerCall })
      say(`round ${round} ${peer.name}: ${sampleLine(result, cpuPerCall)}`)
    }
  }

  await sleep(REST_AFTER_MS)
  return peers.map(({ peer, child }, i) => {
    const memory = child ? memoryMiB(child.pid) : undefined
    return {
      name: peer.name,
      samples: samples[i] ?? [],
      rssPeak: memory?.peak,
      rssAfter: memory?.now,
    }
  })
}

/** @param {import('./load.mjs').LoadResult} result @param {number | undefined} cpu */
function sampleLine({ callsPerSecond, p99Ms, errors }, cpu) {
  const cost = cpu === undefined ? '' : `${cpu.toFixed(1)} µs/call, `
  const failed = errors > 0 ? `, ${errors} ERRORS` : ''
  return `${cost}${Math.round(callsPerSecond)} calls/s, p99 ${p99Ms.toFixed(2)} ms${failed}`
}
