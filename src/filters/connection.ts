import type { RandomSource } from '../base/seeded-random.ts'
import { durationText, sizeText } from '../base/units.ts'
import { duration, section, size } from './lib/config-schema.ts'
import { defineFault, type ParameterProblem } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import * as Type from 'typebox'

const only = (description: string) => Type.Optional(Type.Boolean({ description, examples: [true] }))

/** A failure of TCP connections to a dependency. */
export const connectionFault = defineFault({
  name: 'connection',
  title: 'break TCP connections to dependencies',
  summary: 'breaks or slows TCP connections to a dependency',
  schema: section({
    refuse: only(
      'Refuses new connections with ECONNREFUSED, and resets open connections. If the rule selects only some connections of a listener, the fault resets those connections instead.',
    ),
    blackhole: only('Holds all bytes in both directions, and sends them when the rule ends.'),
    reset: only('Resets the selected connections.'),
    latency: Type.Optional(
      duration({
        description: 'Delays bytes in each direction.',
        examples: ['200ms'],
      }),
    ),
    jitter: Type.Optional(
      duration({
        description:
          'Adds a random duration between 0 and this value to `latency`. Bytes stay in order.',
        examples: ['50ms'],
      }),
    ),
    bandwidth: Type.Optional(
      size({
        description: 'Limits each direction of a connection to this many bytes per second.',
        examples: ['10KiB'],
      }),
    ),
    cut: Type.Optional(
      size({
        description: 'Resets a connection after the dependency has sent this many bytes.',
        examples: ['1KiB'],
      }),
    ),
  }),
  oneOf: ['refuse', 'blackhole', 'reset', 'latency', 'bandwidth', 'cut'],
  goesWith: { jitter: 'latency' },
  clientSees:
    'The MCP server or agent whose outgoing connections pass through Squall sees a dependency that is down or slow. MCP clients see how the server handles this failure. The fault starts and stops within 250 ms, even on open connections.',
  otherTools:
    'toxiproxy has `latency`, `bandwidth`, `reset_peer`, `timeout`, `limit_data` and `enabled: false`. Chaos Mesh has `NetworkChaos`.',
  example: `- name: database-gone
  match: { outbound: { host: db, port: 5432 } }
  faults:
    - connection: { refuse: true }`,
  check(config) {
    const problems: ParameterProblem[] = []
    for (const key of ['refuse', 'blackhole', 'reset'] as const) {
      if (config[key] === false) {
        problems.push({ path: [key], message: 'must be `true` or absent' })
      }
    }
    if (config.bandwidth === 0) {
      problems.push({ path: ['bandwidth'], message: 'must be above 0; use `blackhole`' })
    }
    return problems
  },
  // No call matches a rule with this fault.
  outlook: () => NOTHING,
  create: () => ({}),
})

/** The parameters of the fault. */
export type ConnectionConfig = Parameters<typeof connectionFault.create>[0]

/** Returns the effect of the fault in a few words. */
export function connectionEffect(config: ConnectionConfig): string {
  const { latency, jitter, bandwidth, cut } = config
  if (latency !== undefined) {
    return `latency ${durationText(latency)}${jitter ? ` to ${durationText(latency + jitter)}` : ''}`
  }
  if (bandwidth !== undefined) return `bandwidth ${sizeText(bandwidth)}`
  if (cut !== undefined) return `cut after ${sizeText(cut)}`
  return config.refuse ? 'refuse' : config.blackhole ? 'blackhole' : 'reset'
}

/** The faults of a connection at one moment. */
export interface Effects {
  readonly ends: 'refused' | 'reset' | undefined
  readonly blackhole: boolean
  /** Milliseconds. */
  readonly latency: number
  readonly jitter: number
  /** The share of the jitter that the next bytes get. */
  readonly luck: RandomSource
  /** Bytes per second. */
  readonly bandwidth: number
  /** The bytes of the dependency after which the connection is reset. */
  readonly cut: number
}

export const NO_EFFECTS: Effects = {
  ends: undefined,
  blackhole: false,
  latency: 0,
  jitter: 0,
  luck: () => 0,
  bandwidth: Infinity,
  cut: Infinity,
}

/** Adds the fault of one more rule; `random` has the numbers of that rule for the connection. */
export function withEffects(
  before: Effects,
  config: ConnectionConfig,
  random: RandomSource,
): Effects {
  return {
    ends: before.ends ?? (config.refuse ? 'refused' : config.reset ? 'reset' : undefined),
    blackhole: before.blackhole || config.blackhole === true,
    latency: before.latency + (config.latency ?? 0),
    jitter: before.jitter + (config.jitter ?? 0),
    luck: config.jitter === undefined ? before.luck : random,
    bandwidth: Math.min(before.bandwidth, config.bandwidth ?? Infinity),
    cut: Math.min(before.cut, config.cut ?? Infinity),
  }
}

/** Returns true when both have the same faults. */
export function sameEffects(one: Effects, other: Effects): boolean {
  return Object.keys(one).every((key) => one[key as keyof Effects] === other[key as keyof Effects])
}

/** Calls may fail by a latency from this on. */
const LONG = 1_000
/** Calls may fail by a bandwidth below this, in bytes per second. */
const NARROW = 1_024

/** Returns true for a fault that makes calls of a sound server fail. */
export function mayFailCalls({ latency, jitter = 0, bandwidth }: ConnectionConfig): boolean {
  if (bandwidth !== undefined) return bandwidth < NARROW
  return latency === undefined || latency + jitter >= LONG
}
