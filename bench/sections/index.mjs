import { DELAY } from '../peers/index.mjs'
import { bodies } from './bodies.mjs'
import { faults } from './faults.mjs'
import { faultsMemory } from './faults-memory.mjs'
import { held2000 } from './held-streams.mjs'
import { idleConnections } from './idle-connections.mjs'
import { atFixedRate, saturated } from './in-rounds.mjs'
import { million } from './million.mjs'
import { reload } from './reload.mjs'
import { start } from './start.mjs'

/**
 * The settings and results that the sections of one run share.
 * @typedef {import('../lib/running-peer.mjs').Setting & { say: (line: string) => void, rate: number,
 *   streams: number, failed: string[], sound: ReturnType<typeof import('../lib/sound.mjs').soundness> }} Session
 */

/**
 * @typedef {object} Plan
 * @property {readonly import('../peers/index.mjs').Peer[]} peers
 * @property {number} rounds
 * @property {number} seconds
 * @property {number | undefined} connections
 */

/**
 * @typedef {object} Outcome
 * @property {readonly any[]} rows       one for each peer, with what was measured
 * @property {string} about              how it was measured
 * @property {readonly string[]} tables  the same in Markdown
 */

/**
 * One question that the bench answers.
 * @typedef {object} Section
 * @property {string} name
 * @property {string} title
 * @property {readonly string[]} peers
 * @property {number} [rounds]
 * @property {number} [seconds]
 * @property {(session: Session, plan: Plan) => Promise<Outcome>} run
 */

const NODE_AND_C = [
  'squall',
  'squall-general',
  'socket-pipe',
  'undici-baseline',
  'haproxy',
  'envoy',
]

/** In the order in which they are measured and shown. @type {readonly Section[]} */
export const SECTIONS = [
  saturated({
    name: 'small',
    title: 'Small calls',
    peers: [
      'direct',
      'squall',
      'squall-general',
      'socket-pipe',
      'undici-baseline',
      'haproxy',
      'nginx',
      'envoy',
      'toxiproxy',
      'http-proxy',
      'httpxy',
      'mitmproxy',
      'agentgateway',
      'mcp-chaos',
    ],
  }),
  saturated({
    name: 'rules',
    title: 'Rules that match nothing',
    workload: 'small',
    about: 'The small calls from above, with rules that do not match them.',
    peers: ['squall-0-rules', 'squall-1-rule', 'squall-20-rules', 'squall-1000-rules'],
    references: ['squall-0-rules', 'squall-1-rule'],
    rounds: 6,
  }),
  saturated({
    name: 'metrics',
    title: 'Cost of metrics',
    workload: 'small',
    about: 'The small calls from above, with and without telemetry.',
    peers: ['squall-metrics-on', 'squall-metrics-off'],
    references: ['squall-metrics-off'],
    rounds: 6,
  }),
  atFixedRate({
    name: 'half-load',
    title: 'Latency at a steady rate',
    peers: ['direct', ...NODE_AND_C, 'http-proxy', 'toxiproxy'],
    rounds: 4,
    seconds: 3,
  }),
  atFixedRate({
    name: 'delayed5',
    title: '5 % of calls delayed',
    peers: ['squall', 'squall-delayed5', 'node-delayed5', 'envoy', 'envoy-delayed5'],
    delayMs: DELAY.delayMs,
    rounds: 4,
    seconds: 4,
  }),
  saturated({
    name: 'response64k',
    title: 'Long responses',
    peers: [...NODE_AND_C, 'http-proxy'],
    rounds: 3,
  }),
  saturated({
    name: 'large64k',
    title: 'Long calls with long responses',
    peers: [...NODE_AND_C, 'http-proxy'],
    rounds: 3,
  }),
  bodies(['squall', 'squall-before', 'socket-pipe', 'haproxy', 'envoy', 'http-proxy']),
  saturated({ name: 'stream10m', title: 'Responses of 10 MiB', peers: NODE_AND_C, rounds: 3 }),
  saturated({ name: 'sse100', title: 'Event streams', peers: NODE_AND_C, rounds: 3 }),
  faults(),
  faultsMemory(),
  held2000(NODE_AND_C),
  idleConnections(NODE_AND_C),
  start(['squall', 'squall-general', 'undici-baseline', 'http-proxy', 'haproxy', 'envoy']),
  million(),
  reload(),
]

/** @param {readonly string[]} names @returns {Section[]} */
export function sectionsNamed(names) {
  return names.map((name) => {
    const section = SECTIONS.find((candidate) => candidate.name === name)
    if (!section)
      throw new Error(`no workload '${name}'; there are: ${SECTIONS.map((s) => s.name).join(', ')}`)
    return section
  })
}
