import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startChild } from '../lib/children.mjs'
import { openClients } from '../lib/many-clients.mjs'
import { memoryMiB } from '../lib/proc.mjs'
import { startPeer } from '../lib/running-peer.mjs'
import { median } from '../lib/stats.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { startUpstream } from '../upstream/index.mjs'
import { join } from 'node:path'

const STARTS = 20
const PATIENCE_MS = 10_000
const REST_MS = 3000

/**
 * The time from the start of a peer to its first response, and its memory at rest.
 * @typedef {object} Started
 * @property {string} name
 * @property {number[]} startsMs
 * @property {number} idleMiB
 */

/** @param {readonly string[]} peers @returns {import('./index.mjs').Section} */
export function start(peers) {
  return {
    name: 'start',
    title: 'Start time and idle memory',
    peers,
    rounds: STARTS,
    run: async (session, plan) => {
      const sound = (await session.sound.of(plan.peers)).filter(({ command }) => command)
      const upstream = await startUpstream(workload('small'), session.directory)
      try {
        /** @type {Started[]} */
        const rows = sound.map(({ name }) => ({ name, startsMs: [], idleMiB: Number.NaN }))
        for (let round = 0; round < plan.rounds; round++) {
          for (const [i, peer] of sound.entries()) {
            rows[i]?.startsMs.push(await untilResponse(peer, upstream.port, session))
          }
        }
        const resting = []
        for (const peer of sound) resting.push(await startPeer(peer, upstream.port, session))
        await sleep(REST_MS)
        for (const [i, { child }] of resting.entries()) {
          const row = rows[i]
          if (row && child) row.idleMiB = memoryMiB(child.pid).now
          await child?.stop()
        }
        return {
          rows,
          about: `Time from process start to the first response to a call, ${plan.rounds} runs each; then the memory after an idle time of ${REST_MS / 1000} s.`,
          tables: [startTable(rows)],
        }
      } finally {
        await upstream.child.stop()
      }
    },
  }
}

/**
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {import('./index.mjs').Session} session
 */
async function untilResponse(peer, upstreamPort, { directory, squallMain, rulesFile }) {
  const port = await freePort()
  const own = join(directory, peer.name)
  const context = { port, upstreamPort, directory: own, squallMain, rulesFile }
  const command = await /** @type {NonNullable<typeof peer.command>} */ (peer.command)(context)
  const began = performance.now()
  const child = await startChild(peer.name, command)
  try {
    while (!(await accepts(port))) {
      if (!child.running()) throw new Error(`${peer.name} ended: ${child.output().trim()}`)
      if (performance.now() - began > PATIENCE_MS) throw new Error(`${peer.name} does not listen`)
      await sleep(1)
    }
    const client = await openClients('connection', port, 1)
    const took = performance.now() - began
    client.close()
    return took
  } finally {
    await child.stop()
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** @param {readonly Started[]} rows */
export function startTable(rows) {
  const cells = rows.map(({ name, startsMs, idleMiB }) => [
    name,
    figure(median(startsMs), 0),
    `${Math.min(...startsMs).toFixed(0)}–${Math.max(...startsMs).toFixed(0)}`,
    figure(idleMiB, 0),
  ])
  return table(['peer', 'start ms', 'range', 'RSS at rest MiB'], cells)
}
