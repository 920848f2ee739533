import { byCommand } from './by-command.mjs'
import { direct } from './direct.mjs'
import { envoyWithFault } from './envoy.mjs'
import { haproxy } from './haproxy.mjs'
import { httpProxy } from './http-proxy.mjs'
import { httpxy } from './httpxy.mjs'
import { mitmproxy } from './mitmproxy.mjs'
import { nginx } from './nginx.mjs'
import { nodeDelayed } from './node-delayed.mjs'
import { socketPipe } from './socket-pipe.mjs'
import { squallWithMetrics } from './squall-metrics.mjs'
import { squall, squallWith } from './squall.mjs'
import { toxiproxy } from './toxiproxy.mjs'
import { undiciBaseline } from './undici-baseline.mjs'

/**
 * @typedef {object} PeerContext
 * @property {number} port
 * @property {number} upstreamPort
 * @property {string} directory           a scratch directory of its own
 * @property {string} squallMain
 * @property {string | undefined} rulesFile
 */

/**
 * A proxy to measure. One without a command is no proxy: load goes to the upstream itself.
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} summary
 * @property {(context: { squallMain: string }) => string | undefined} [missing]  why it cannot run
 * @property {(context: PeerContext) => import('../lib/children.mjs').Command | Promise<import('../lib/children.mjs').Command>} [command]
 * @property {(context: PeerContext) => Promise<void>} [ready]  resolves once it does what it is there for
 */

/** The share of calls that is delayed where delays are measured, and by how much. */
export const DELAY = { percent: 5, delayMs: 200 }

/** Names the main module of the version that this one is compared with. */
const BEFORE = { variable: 'BENCH_SQUALL_BEFORE' }

/** To add a peer, add a file to this directory and a line here. @type {readonly Peer[]} */
export const PEERS = [
  direct,
  squall,
  squallWith('squall-general', { engine: 'standard' }),
  squallWith('squall-no-tasks', { flags: ['--tasks=false'] }),
  squallWith('squall-before', { main: BEFORE }),
  squallWith('squall-before-general', { main: BEFORE, engine: 'standard' }),
  squallWith('squall-0-rules', { rules: 0 }),
  squallWith('squall-1-rule', { rules: 1 }),
  squallWith('squall-20-rules', { rules: 20 }),
  squallWith('squall-1000-rules', { rules: 1000 }),
  squallWith('squall-delayed5', { delay: DELAY }),
  nodeDelayed('node-delayed5', DELAY),
  squallWithMetrics('on'),
  squallWithMetrics('off'),
  socketPipe,
  undiciBaseline,
  httpProxy,
  httpxy,
  haproxy,
  nginx,
  envoyWithFault('envoy', { ...DELAY, percent: 0 }),
  envoyWithFault('envoy-delayed5', DELAY),
  toxiproxy,
  mitmproxy,
  byCommand('agentgateway', 'BENCH_AGENTGATEWAY', 'agentgateway, as its reader starts it'),
  byCommand('mcp-chaos', 'BENCH_MCP_CHAOS', 'mcp-chaos, as its reader starts it'),
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
