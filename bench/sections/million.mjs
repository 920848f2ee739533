import { setTimeout as sleep } from 'node:timers/promises'
import { loadGenerator } from '../lib/load.mjs'
import { memoryMiB } from '../lib/proc.mjs'
import { startPeer } from '../lib/running-peer.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { startUpstream } from '../upstream/index.mjs'

const CALLS = 1_000_000
const SLICE_SECONDS = 5
const REST_MS = 5000

/**
 * Memory after a million calls, in MiB.
 * @typedef {object} Memory
 * @property {string} name
 * @property {number} calls
 * @property {number} errors
 * @property {number} before
 * @property {number} after
 * @property {number} rested
 * @property {number} peak
 */

/** @returns {import('./index.mjs').Section} */
export function million() {
  return {
    name: 'million',
    title: 'Memory after a million calls',
    peers: ['squall'],
    run: async (session, plan) => {
      const sound = (await session.sound.of(plan.peers)).filter(({ command }) => command)
      const upstream = await startUpstream(workload('small'), session.directory)
      /** @type {Memory[]} */
      const rows = []
      try {
        for (const peer of sound) rows.push(await memoryOf(peer, upstream.port, session, plan))
      } finally {
        await upstream.child.stop()
      }
      return {
        rows,
        about: `Resident memory right after a million small calls, and after ${REST_MS / 1000} s of rest.`,
        tables: [millionTable(rows)],
      }
    },
  }
}

/**
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {import('./index.mjs').Session} session
 * @param {import('./index.mjs').Plan} plan
 * @returns {Promise<Memory>}
 */
async function memoryOf(peer, upstreamPort, session, plan) {
  const { child, port } = await startPeer(peer, upstreamPort, session)
  if (!child) throw new Error(`${peer.name} has no process`)
  try {
    const small = workload('small')
    const { run } = loadGenerator()
    const connections = plan.connections ?? small.connections
    const before = memoryMiB(child.pid).now
    let calls = 0
    let errors = 0
    while (calls < CALLS) {
      const { directory } = session
      const result = await run({
        port,
        workload: small,
        connections,
        seconds: SLICE_SECONDS,
        directory,
      })
      if (result.calls === 0) throw new Error(`${peer.name} answers no calls: ${child.output()}`)
      calls += result.calls
      errors += result.errors
      session.say(`${peer.name}: ${calls} calls, ${memoryMiB(child.pid).now.toFixed(1)} MiB`)
    }
    const { now: after, peak } = memoryMiB(child.pid)
    await sleep(REST_MS)
    const rested = memoryMiB(child.pid).now
    return { name: peer.name, calls, errors, before, after, rested, peak }
  } finally {
    await child.stop()
  }
}

/** @param {readonly Memory[]} rows */
export function millionTable(rows) {
  const head = [
    'peer',
    'calls',
    'before MiB',
    'after MiB',
    'after a rest MiB',
    'peak MiB',
    'errors',
  ]
  const cells = rows.map((row) => [
    row.name,
    String(row.calls),
    figure(row.before, 0),
    figure(row.after, 0),
    figure(row.rested, 0),
    figure(row.peak, 0),
    String(row.errors),
  ])
  return table(head, cells)
}
