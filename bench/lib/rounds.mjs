import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMeter, memoryMiB } from './proc.mjs'

/**
 * The measurements of one peer in one round.
 * @typedef {import('./load.mjs').LoadResult & { cpuPerCall: number | undefined,
 *   rss: number | undefined, late?: import('./open-loop.mjs').Late }} Sample
 */

/**
 * @typedef {object} Measured
 * @property {string} name
 * @property {Sample[]} samples
 * @property {number | undefined} rssBefore   MiB before the first call of the load
 * @property {number | undefined} rssPeak
 * @property {number | undefined} rssAfter
 */

/** @typedef {import('./load.mjs').LoadResult & { late?: import('./open-loop.mjs').Late }} Loaded */

const WARM_UP_SECONDS = 2
const REST_BEFORE_MS = 200
const REST_AFTER_MS = 2000

/**
 * Interleaves rounds (A B C, A B C, …), so that load on the machine affects all peers.
 * @param {readonly import('./running-peer.mjs').RunningPeer[]} peers
 * @param {{ rounds: number, seconds: number, say: (line: string) => void,
 *   load: (port: number, seconds: number) => Promise<Loaded> }} plan
 * @returns {Promise<Measured[]>}
 */
export async function measure(peers, { rounds, seconds, say, load }) {
  const before = peers.map(({ child }) => (child ? memoryMiB(child.pid).now : undefined))
  for (const { port } of peers) await load(port, WARM_UP_SECONDS)
  /** @type {Sample[][]} */
  const samples = peers.map(() => [])
  for (let round = 1; round <= rounds; round++) {
    for (const [i, { peer, port, child }] of peers.entries()) {
      await sleep(REST_BEFORE_MS)
      const spent = child && cpuMeter(child.pid)
      const result = await load(port, seconds)
      const cpuPerCall = spent && spent() / Math.max(result.calls, 1)
      const rss = child && memoryMiB(child.pid).now
      samples[i]?.push({ ...result, cpuPerCall, rss })
      say(`round ${round} ${peer.name}: ${sampleLine(result, cpuPerCall)}`)
    }
  }

  await sleep(REST_AFTER_MS)
  return peers.map(({ peer, child }, i) => {
    const memory = child ? memoryMiB(child.pid) : undefined
    return {
      name: peer.name,
      samples: samples[i] ?? [],
      rssBefore: before[i],
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
