import { setTimeout as sleep } from 'node:timers/promises'
import { loadGenerator } from '../lib/load.mjs'
import { openClients } from '../lib/many-clients.mjs'
import { cpuMeter, memoryMiB } from '../lib/proc.mjs'
import { startPeer } from '../lib/running-peer.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { startUpstream } from '../upstream/index.mjs'

/** The first ones pay for code and pools that later ones share. */
export const WARM_UP_CLIENTS = 200
const REST_MS = 2000
const WARM_UP_SECONDS = 1

/**
 * Measures memory for each open stream, and the cost of calls during open streams.
 * @typedef {object} Held
 * @property {string} name
 * @property {number} kibEach
 * @property {number} dropped
 * @property {number} cpuHeld     µs of CPU per call while the streams are open
 * @property {number} cpuFree     the same once they are gone
 * @property {number} p99HeldMs
 * @property {number} p99FreeMs
 * @property {number} errors
 * @property {number} afterMiB
 */

/** @param {readonly string[]} peers @returns {import('./index.mjs').Section} */
export function held2000(peers) {
  const work = workload('small')
  return {
    name: 'held2000',
    title: 'Open streams',
    peers,
    run: async (session, plan) => {
      const sound = (await session.sound.of(plan.peers)).filter(({ command }) => command)
      const upstream = await startUpstream(work, session.directory, { holds: true })
      /** @type {Held[]} */
      const rows = []
      try {
        for (const peer of sound) {
          const row = await heldBy(peer, upstream.port, session, plan)
          session.say(`${row.name}: ${row.kibEach.toFixed(1)} KiB each, ${row.dropped} dropped`)
          rows.push(row)
        }
      } finally {
        await upstream.child.stop()
      }
      return {
        rows,
        about: `${session.streams} SSE streams are opened and stay open. Small calls run for ${plan.seconds} s while the streams are open, and again after the streams have closed. Upstream: ${upstream.kind}.`,
        tables: [heldTable(rows)],
      }
    },
  }
}

/**
 * Memory is read first, in a process that has done nothing else: what calls leave behind would hide
 * it.
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {import('./index.mjs').Session} session
 * @param {import('./index.mjs').Plan} plan
 * @returns {Promise<Held>}
 */
async function heldBy(peer, upstreamPort, session, plan) {
  const { child, port } = await startPeer(peer, upstreamPort, session)
  if (!child) throw new Error(`${peer.name} has no process`)
  try {
    const first = await openClients('stream', port, WARM_UP_CLIENTS)
    first.close()
    await sleep(REST_MS)
    const before = memoryMiB(child.pid).now
    const streams = await openClients('stream', port, session.streams)
    await sleep(REST_MS)
    const held = memoryMiB(child.pid).now
    const beside = await loaded(child.pid, port, session, plan)
    const dropped = session.streams - streams.open()
    streams.close()
    await sleep(REST_MS)
    const alone = await loaded(child.pid, port, session, plan)
    return {
      name: peer.name,
      kibEach: ((held - before) * 1024) / session.streams,
      dropped,
      cpuHeld: beside.cpu,
      cpuFree: alone.cpu,
      p99HeldMs: beside.p99Ms,
      p99FreeMs: alone.p99Ms,
      errors: beside.errors + alone.errors,
      afterMiB: memoryMiB(child.pid).now,
    }
  } finally {
    await child.stop()
  }
}

/**
 * @param {number} pid
 * @param {number} port
 * @param {import('./index.mjs').Session} session
 * @param {import('./index.mjs').Plan} plan
 */
async function loaded(pid, port, { directory }, { seconds, connections }) {
  const work = workload('small')
  const { run } = loadGenerator()
  const load = { port, workload: work, connections: connections ?? work.connections, directory }
  await run({ ...load, seconds: WARM_UP_SECONDS })
  const spent = cpuMeter(pid)
  const { calls, p99Ms, errors } = await run({ ...load, seconds })
  return { cpu: spent() / Math.max(calls, 1), p99Ms, errors }
}

/** @param {readonly Held[]} rows */
export function heldTable(rows) {
  const head = ['peer', 'KiB per stream', 'dropped', 'CPU µs/call during', 'CPU µs/call after']
  const cells = rows.map((row) => [
    row.name,
    figure(row.kibEach, 1),
    String(row.dropped),
    figure(row.cpuHeld, 1),
    figure(row.cpuFree, 1),
    figure(row.cpuHeld / row.cpuFree, 2),
    figure(row.p99HeldMs, 2),
    figure(row.p99FreeMs, 2),
    figure(row.afterMiB, 0),
    String(row.errors),
  ])
  const rest = ['ratio', 'p99 ms during', 'p99 ms after', 'RSS after MiB', 'errors']
  return table([...head, ...rest], cells)
}
