import { setTimeout as sleep } from 'node:timers/promises'
import { openClients } from '../lib/many-clients.mjs'
import { memoryMiB } from '../lib/proc.mjs'
import { startPeer } from '../lib/running-peer.mjs'
import { median } from '../lib/stats.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { startUpstream } from '../upstream/index.mjs'
import { WARM_UP_CLIENTS } from './held-streams.mjs'

const REST_MS = 1500

/**
 * Memory for each connection that is kept alive after a call.
 * @typedef {object} Idle
 * @property {string} name
 * @property {number[]} each     KiB for each, round by round
 * @property {number} kibEach   the middle of them
 * @property {number} closed    connections that the proxy closed meanwhile: their memory is missing
 */

/** @param {readonly string[]} peers @returns {import('./index.mjs').Section} */
export function idleConnections(peers) {
  return {
    name: 'idle',
    title: 'Idle connections',
    peers,
    rounds: 3,
    run: async (session, plan) => {
      const sound = (await session.sound.of(plan.peers)).filter(({ command }) => command)
      const upstream = await startUpstream(workload('small'), session.directory)
      /** @type {Idle[]} */
      const rows = []
      try {
        for (const { name } of sound) rows.push({ name, each: [], kibEach: Number.NaN, closed: 0 })
        for (let round = 1; round <= plan.rounds; round++) {
          for (const [i, peer] of sound.entries()) {
            const { kib, closed } = await idleBy(peer, upstream.port, session)
            session.say(`round ${round} ${peer.name}: ${kib.toFixed(1)} KiB each, ${closed} closed`)
            rows[i]?.each.push(kib)
            if (rows[i]) rows[i].closed += closed
          }
        }
        for (const row of rows) row.kibEach = median(row.each)
      } finally {
        await upstream.child.stop()
      }
      return {
        rows,
        about: `${session.streams} client connections make one small call each and stay open. Median of ${plan.rounds} processes.`,
        tables: [idleTable(rows)],
      }
    },
  }
}

/**
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {import('./index.mjs').Session} session
 */
async function idleBy(peer, upstreamPort, session) {
  const { child, port } = await startPeer(peer, upstreamPort, session)
  if (!child) throw new Error(`${peer.name} has no process`)
  try {
    const first = await openClients('connection', port, WARM_UP_CLIENTS)
    first.close()
    await sleep(REST_MS)
    const before = memoryMiB(child.pid).now
    const connections = await openClients('connection', port, session.streams)
    await sleep(REST_MS)
    const held = memoryMiB(child.pid).now
    const closed = session.streams - connections.open()
    connections.close()
    return { kib: ((held - before) * 1024) / session.streams, closed }
  } finally {
    await child.stop()
  }
}

/** @param {readonly Idle[]} rows */
export function idleTable(rows) {
  const cells = rows.map(({ name, each, kibEach, closed }) => [
    name,
    figure(kibEach, 1),
    `${Math.min(...each).toFixed(1)}–${Math.max(...each).toFixed(1)}`,
    String(closed),
  ])
  return table(['peer', 'KiB per connection', 'range', 'closed'], cells)
}
