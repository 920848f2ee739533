import { loadGenerator } from '../lib/load.mjs'
import { openLoop } from '../lib/open-loop.mjs'
import { addedTable, figuresTable, lateTable, ratioTable } from '../lib/report.mjs'
import { measure } from '../lib/rounds.mjs'
import { respondsRightly, startPeer } from '../lib/running-peer.mjs'
import { workload } from '../lib/workloads.mjs'
import { startUpstream } from '../upstream/index.mjs'

/**
 * Starts the peers of a section in front of one upstream, and loads them in turn.
 * @param {import('./index.mjs').Session} session
 * @param {import('./index.mjs').Plan} plan
 * @param {import('../lib/workloads.mjs').Workload} work
 * @param {(port: number, seconds: number) => Promise<import('../lib/rounds.mjs').Loaded>} load
 */
export async function inRounds(session, plan, work, load) {
  const sound = await session.sound.of(plan.peers)
  const upstream = await startUpstream(work, session.directory)
  const running = []
  try {
    for (const peer of sound) {
      const started = await startPeer(peer, upstream.port, session).catch((error) => {
        session.say(`not timed, ${error.message}`)
      })
      if (started === undefined) continue
      running.push(started)
      if (await respondsRightly(started, work)) continue
      session.say(`not timed, ${peer.name} changes the response of ${work.name}`)
      running.pop()
      await started.child?.stop()
    }
    const { rounds, seconds } = plan
    const rows = await measure(running, { rounds, seconds, say: session.say, load })
    return { rows, upstream: upstream.kind }
  } finally {
    for (const { child } of running) await child?.stop()
    await upstream.child.stop()
  }
}

/** The default references for peers; speed is compared with the first. */
const REFERENCES = ['squall-before', 'socket-pipe', 'haproxy', 'http-proxy', 'undici-baseline']

/**
 * As many calls in flight as there are connections, each followed by the next at once.
 * @param {{ name: string, title: string, about?: string, peers: readonly string[], workload?: string,
 *   references?: readonly string[], rounds?: number, seconds?: number }} section
 * @returns {import('./index.mjs').Section}
 */
export function saturated({ workload: workName, references = REFERENCES, about, ...section }) {
  const work = workload(workName ?? section.name)
  return {
    ...section,
    run: async (session, plan) => {
      const { name: generator, run } = loadGenerator()
      const connections = plan.connections ?? work.connections
      const { directory } = session
      const load = (/** @type {number} */ port, /** @type {number} */ seconds) =>
        run({ port, workload: work, connections, seconds, directory })
      const { rows, upstream } = await inRounds(session, plan, work, load)
      return {
        rows,
        about: `${about ?? `${work.summary[0]?.toUpperCase()}${work.summary.slice(1)}.`} ${plan.rounds} rounds of ${plan.seconds} s, ${connections} connections; medians. Load: ${generator}, upstream: ${upstream}.`,
        tables: [figuresTable(rows, work.response.length), ratioTable(rows, references)],
      }
    },
  }
}

/**
 * Sends calls at a fixed rate, regardless of their results.
 * @param {{ name: string, title: string, peers: readonly string[], delayMs?: number,
 *   rounds?: number, seconds?: number }} section
 * @returns {import('./index.mjs').Section}
 */
export function atFixedRate({ delayMs, ...section }) {
  const work = workload('small')
  return {
    ...section,
    run: async (session, plan) => {
      const { rate } = session
      const load = (/** @type {number} */ port, /** @type {number} */ seconds) =>
        openLoop({ port, rate, seconds, ...(delayMs === undefined ? {} : { delayMs }) })
      const { rows, upstream } = await inRounds(session, plan, work, load)
      const tables =
        delayMs === undefined
          ? [figuresTable(rows), addedTable(rows)]
          : [lateTable(rows), ratioTable(rows, ['squall', 'envoy'], false)]
      return {
        rows,
        about: `${rate} small calls per second, sent on schedule regardless of earlier responses (open loop). ${plan.rounds} rounds of ${plan.seconds} s; medians. Load: bare sockets of Node, upstream: ${upstream}.`,
        tables,
      }
    },
  }
}
