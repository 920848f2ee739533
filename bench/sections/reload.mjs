import { renameSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLoop } from '../lib/open-loop.mjs'
import { startPeer } from '../lib/running-peer.mjs'
import { quantile } from '../lib/stats.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { isActive, rulesText } from '../peers/squall-rules.mjs'
import { startUpstream } from '../upstream/index.mjs'

const RATE = 500
const RULES = 20
const PATIENCE_MS = 5000
/** Edits that come at once are taken together; people make them one by one. */
const BETWEEN_MS = 20
/** Two hundred edits and more. Of less than a hundred, p99 would be the slowest. */
const LEAST_SECONDS = 12
/** The sender's start takes a core for itself: edits begin when its calls go out steadily. */
const SENDER_STARTS_MS = 600

/**
 * The time until edits of the rules affect calls.
 * @typedef {object} Reloaded
 * @property {string} name
 * @property {number[]} tookMs   from the rename of the file, in order of length
 * @property {number} calls      made meanwhile by others
 * @property {number} errors     of those
 */

/** @returns {import('./index.mjs').Section} */
export function reload() {
  return {
    name: 'reload',
    title: 'Rules reload latency',
    peers: ['squall'],
    seconds: LEAST_SECONDS,
    run: async (session, plan) => {
      const seconds = Math.max(plan.seconds, LEAST_SECONDS)
      const sound = (await session.sound.of(plan.peers)).filter(({ command }) => command)
      const upstream = await startUpstream(workload('small'), session.directory)
      /** @type {Reloaded[]} */
      const rows = []
      try {
        for (const peer of sound) rows.push(await reloadsOf(peer, upstream.port, session, seconds))
      } finally {
        await upstream.child.stop()
      }
      return {
        rows,
        about: `A rule among ${RULES} is added and removed for ${seconds} s, each time with a new file renamed over the old file, during ${RATE} small calls per second. The figures are the time from the rename until the rule first matches a call, or no longer matches one.`,
        tables: [reloadTable(rows)],
      }
    },
  }
}

/**
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {import('./index.mjs').Session} session
 * @param {number} seconds
 * @returns {Promise<Reloaded>}
 */
async function reloadsOf(peer, upstreamPort, session, seconds) {
  const file = join(session.directory, 'reloaded.yaml')
  writeFileSync(file, rulesText(RULES))
  const { child, port } = await startPeer(peer, upstreamPort, { ...session, rulesFile: file })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    await until(port, agent, true)
    const beside = openLoop({ port, rate: RATE, seconds })
    const ends = performance.now() + seconds * 1000
    await sleep(SENDER_STARTS_MS)
    const tookMs = []
    for (let edit = 1; performance.now() < ends; edit++) {
      const there = edit % 2 === 0
      writeFileSync(`${file}.new`, rulesText(RULES, { asked: there }))
      const renamed = performance.now()
      renameSync(`${file}.new`, file)
      await until(port, agent, there)
      tookMs.push(performance.now() - renamed)
      await sleep(BETWEEN_MS)
    }
    const { calls, errors } = await beside
    return { name: peer.name, tookMs: tookMs.sort((a, b) => a - b), calls, errors }
  } finally {
    agent.destroy()
    await child?.stop()
  }
}

/** @param {number} port @param {Agent} agent @param {boolean} there */
async function until(port, agent, there) {
  const deadline = performance.now() + PATIENCE_MS
  while ((await isActive(port, agent)) !== there) {
    if (performance.now() > deadline) throw new Error('an edit of the rules has no effect')
    await sleep(1)
  }
}

/** @param {readonly Reloaded[]} rows */
export function reloadTable(rows) {
  const head = ['peer', 'edits', 'p50 ms', 'p99 ms', 'slowest ms', 'calls', 'errors']
  const cells = rows.map(({ name, tookMs, calls, errors }) => [
    name,
    String(tookMs.length),
    ...[0.5, 0.99, 1].map((share) => figure(quantile(tookMs, share), 1)),
    String(calls),
    String(errors),
  ])
  return table(head, cells)
}
