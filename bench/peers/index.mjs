import { direct } from './direct.mjs'
import { haproxy } from './haproxy.mjs'
import { httpProxy } from './http-proxy.mjs'
import { nginx } from './nginx.mjs'
import { squallWithMetrics } from './squall-metrics.mjs'
import { squallWithRules } from './squall-rules.mjs'
import { squall } from './squall.mjs'
import { undiciBaseline } from './undici-baseline.mjs'

/**
 * @typedef {object} PeerContext
 * @property {number} port
 * @property {number} upstreamPort
 * @property {string} folder           a scratch folder of its own
 * @property {string} squallMain
 * @property {string | undefined} rulesFile
 */

/**
 * A proxy to measure. One without a command is no proxy: load goes to the upstream itself.
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} summary
 * @property {(context: { squallMain: string }) => string | undefined} [missing]  why it cannot run
 * @property {(context: PeerContext) => import('../lib/children.mjs').Command} [command]
 */

/** A new peer is a file beside this one and a line here. @type {readonly Peer[]} */
export const PEERS = [
  direct,
  squall,
  squallWithRules(20),
  squallWithRules(1000),
  squallWithMetrics('on'),
  squallWithMetrics('off'),
  undiciBaseline,
  httpProxy,
  haproxy,
  nginx,
]

/** @param {readonly string[]} names @returns {Peer[]} */
export function peersNamed(names) {
  return names.map((name) => {
    const peer = PEERS.find((candidate) => candidate.name === name)
    if (!peer)
      throw new Error(`no peer '${name}'; there are: ${PEERS.map((p) => p.name).join(', ')}`)
    return peer
  })
}
