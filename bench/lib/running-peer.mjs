import { Agent } from 'node:http'
import { join } from 'node:path'
import { freePort, startChild, waitUntilAccepting } from './children.mjs'
import { startCheckUpstream } from './check-upstream.mjs'
import { faultsOf, post } from './check.mjs'

/**
 * A peer that takes calls. `child` is missing when there is no proxy to measure.
 * @typedef {object} RunningPeer
 * @property {import('../peers/index.mjs').Peer} peer
 * @property {number} port
 * @property {import('./children.mjs').Child | undefined} child
 */

/** @typedef {{ directory: string, squallMain: string, rulesFile: string | undefined }} Setting */

/**
 * A port that was free may be taken by the time it is used: one failure may be no fault of the
 * peer.
 */
const TRIES = 2

/**
 * Starts a peer and waits until it does what it is there for.
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {Setting} setting
 * @returns {Promise<RunningPeer>}
 */
export async function startPeer(peer, upstreamPort, setting) {
  for (let tries = 1; ; tries++) {
    try {
      return await started(peer, upstreamPort, setting)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (tries === TRIES)
        throw new Error(`${peer.name} did not start: ${reason}`, { cause: error })
    }
  }
}

/**
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {number} upstreamPort
 * @param {Setting} setting
 * @returns {Promise<RunningPeer>}
 */
async function started(peer, upstreamPort, { directory, squallMain, rulesFile }) {
  if (!peer.command) return { peer, port: upstreamPort, child: undefined }
  const port = await freePort()
  const own = join(directory, peer.name)
  const context = { port, upstreamPort, directory: own, squallMain, rulesFile }
  const child = await startChild(peer.name, await peer.command(context))
  try {
    await waitUntilAccepting(child, port)
    await peer.ready?.(context)
  } catch (error) {
    await child.stop()
    throw error
  }
  return { peer, port, child }
}

/**
 * Runs a peer in front of an upstream that watches closely; reports the errors of the peer.
 * @param {import('../peers/index.mjs').Peer} peer
 * @param {Setting} setting
 */
export async function checkPeer(peer, setting) {
  const upstream = await startCheckUpstream()
  /** @type {RunningPeer | undefined} */
  let running
  try {
    running = await startPeer(peer, upstream.port, setting)
    return await faultsOf(running.port, upstream)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  } finally {
    await running?.child?.stop()
    upstream.close()
  }
}

/**
 * One call of the workload itself, so that what is timed is known to be the right response.
 * @param {RunningPeer} running
 * @param {import('./workloads.mjs').Workload} workload
 */
export async function respondsRightly({ port }, workload) {
  const agent = new Agent({ keepAlive: false })
  const response = await post(port, agent, workload.request).catch(() => undefined)
  return response?.status === 200 && response.body === workload.response.toString('utf8')
}
