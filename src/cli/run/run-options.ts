import { AppProbesError, parseAppProbesJson } from '../../admin/probes/app-probe-parse.ts'
import type { AppProbes } from '../../admin/probes/app-probe.ts'
import { parseControl, parseUpstreamHost } from '../flags/address.ts'
import { RUN_FLAGS, type RunFlag } from '../flags/flag-table.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'
import type { ReadAccess } from '../../admin/read-guard.ts'
import type { ListenAddress } from '../../http/address.ts'
import { ENGINES, type Engine } from '../../listener/front/front-options.ts'
import {
  LOG_FORMATS,
  LOG_IDS,
  LOG_LEVELS,
  type LogFormat,
  type LogIds,
  type LogLevel,
} from '../../telemetry/log.ts'
import type { UpstreamAddress } from '../../upstream/address.ts'
import { parsePublicUrl } from './public-url.ts'
import { type RunRules, parseRunRules } from './rules-guard-options.ts'
import { parseAdminToken, parseReadAccess } from './run-admin-token.ts'
import { parsePlaces } from './run-places.ts'
import { parseListenerTls, parseUpstreamTls } from './run-tls.ts'
import { type Range, parseChoice, parseCount, parseDuration, parseSize } from '../flags/units.ts'

const LOOPBACK = '127.0.0.1'

/** The probes that the admin port performs in the kubelet's stead. Throws nothing but a `UsageError`. */
export function parseAppProbes(flags: FlagValues<RunFlag>): AppProbes {
  const given = flags.optional('app-probes')
  if (given === undefined) return []
  const moved = flags.optional('upstream-host')
  const host = moved === undefined ? LOOPBACK : parseUpstreamHost(moved.text, moved.source)
  if (flags.required('admin').text === 'off') {
    throw new UsageError(
      'BAD_COMBINATION',
      `${given.source}: there is no admin port that could be asked`,
      'give --admin an address',
    )
  }
  try {
    return parseAppProbesJson(given.text, host)
  } catch (error) {
    if (!(error instanceof AppProbesError)) throw error
    throw new UsageError(
      'BAD_VALUE',
      `${given.source}: ${error.message}`,
      'write {"container/readyz": {"httpGet": {"path": "/", "port": 3000}}}',
    )
  }
}

/** One listening address and the app behind it. */
export interface Route {
  readonly listen: ListenAddress
  readonly upstream: UpstreamAddress
}

/** The files for TLS on the listeners. */
export interface ListenerTls {
  readonly certFile: string
  readonly keyFile: string
}

/** Configures TLS to the app. */
export interface UpstreamTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly servername: string | undefined
  /** Accept any certificate. */
  readonly insecure: boolean
}

/** The checked, frozen options of `squall run`: times in milliseconds, sizes in bytes. */
export interface RunOptions {
  readonly routes: readonly [Route, ...Route[]]
  /** Undefined when it is off. */
  readonly admin: ListenAddress | undefined
  /** Path of the socket for hooks in the sidecar's own container; undefined when there is none. */
  readonly control: string | undefined
  /** The probes that the admin port sends to the app on behalf of Kubernetes. */
  readonly appProbes: AppProbes
  /** Replaces the upstream's address in OAuth documents; undefined for no change. */
  readonly publicUrl: string | undefined
  /** The token that changes by the admin port need; undefined when nothing can be changed. */
  readonly adminToken: string | undefined
  /** Access rules for reading the admin port. */
  readonly adminAccess: ReadAccess
  readonly tls: ListenerTls | undefined
  readonly upstreamTls: UpstreamTls
  readonly rules: RunRules
  readonly readyWithoutUpstream: boolean
  readonly strict: boolean
  readonly maxHeaderBytes: number
  readonly maxBodyBytes: number
  /** Undefined for a share of the memory that there is. */
  readonly maxMemoryBytes: number | undefined
  readonly maxConnections: number
  readonly maxUpstreamConnections: number
  readonly maxPending: number
  readonly maxSessions: number
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly holdTimeoutMs: number
  readonly pendingTtlMs: number
  readonly connectTimeoutMs: number
  readonly upstreamIdleMs: number
  readonly clientKeepaliveMs: number
  readonly drainTimeoutMs: number
  readonly engine: Engine
  readonly upstreamReuse: UpstreamReuse
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  readonly logIds: LogIds
}

/** Decides whether a connection to the app carries more than one request. */
export type UpstreamReuse = (typeof UPSTREAM_REUSE)[number]

const UPSTREAM_REUSE = ['always', 'never'] as const
const HOUR = 3_600_000
const KIB = 1024
const MIB = 1024 * KIB
const HEAD: Range = { min: KIB, max: MIB }
const BODY: Range = { min: KIB, max: 256 * MIB }
const MEMORY: Range = { min: MIB, max: 1024 * 1024 * MIB }
const COUNT: Range = { min: 1, max: 10_000_000 }
// A day is far below the longest timer that Node keeps.
const TIME: Range = { min: 1, max: 24 * HOUR }
const TIME_OR_NONE: Range = { min: 0, max: 24 * HOUR }

/** Checks what the command line and the environment say. Throws nothing but a `UsageError`. */
export function parseRunOptions(raw: RawFlags, env: Environment): RunOptions {
  const flags = new FlagValues<RunFlag>(RUN_FLAGS, raw, env)
  const size = (name: RunFlag, range: Range): number => {
    const { text, source } = flags.required(name)
    return parseSize(text, source, range)
  }
  const count = (name: RunFlag): number => {
    const { text, source } = flags.required(name)
    return parseCount(text, source, COUNT)
  }
  const time = (name: RunFlag, range = TIME): number => {
    const { text, source } = flags.required(name)
    return parseDuration(text, source, range)
  }
  const engine = flags.required('engine')
  const reuse = flags.required('upstream-reuse')
  const level = flags.required('log-level')
  const format = flags.required('log-format')
  const ids = flags.required('log-ids')
  const { routes, admin } = parsePlaces(flags)
  const adminToken = parseAdminToken(flags, env)
  return deepFreeze({
    routes,
    admin,
    control: optionally(flags.optional('control'), parseControl),
    appProbes: parseAppProbes(flags),
    publicUrl: optionally(flags.optional('public-url'), parsePublicUrl),
    adminToken,
    adminAccess: parseReadAccess(flags, env, admin, adminToken),
    tls: parseListenerTls(flags),
    upstreamTls: parseUpstreamTls(flags, routes),
    rules: parseRunRules(flags, env),
    readyWithoutUpstream: flags.switch('ready-without-upstream'),
    strict: flags.switch('strict'),
    maxHeaderBytes: size('max-header-size', HEAD),
    maxBodyBytes: size('max-body', BODY),
    maxMemoryBytes: optionally(flags.optional('max-memory'), ({ text, source }) =>
      parseSize(text, source, MEMORY),
    ),
    maxConnections: count('max-connections'),
    maxUpstreamConnections: count('max-upstream-connections'),
    maxPending: count('max-pending'),
    maxSessions: count('max-sessions'),
    headerTimeoutMs: time('header-timeout'),
    bodyTimeoutMs: time('body-timeout'),
    holdTimeoutMs: time('hold-timeout'),
    pendingTtlMs: time('pending-ttl'),
    connectTimeoutMs: time('connect-timeout'),
    upstreamIdleMs: time('upstream-idle'),
    clientKeepaliveMs: time('client-keepalive'),
    drainTimeoutMs: time('drain-timeout', TIME_OR_NONE),
    engine: parseChoice(engine.text, engine.source, ENGINES),
    upstreamReuse: parseChoice(reuse.text, reuse.source, UPSTREAM_REUSE),
    logLevel: parseChoice(level.text, level.source, LOG_LEVELS),
    logFormat: parseChoice(format.text, format.source, LOG_FORMATS),
    logIds: parseChoice(ids.text, ids.source, LOG_IDS),
  })
}

function optionally<Value>(
  given: Given | undefined,
  parse: (given: Given) => Value,
): Value | undefined {
  return given === undefined ? undefined : parse(given)
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part)
  }
  return Object.freeze(value)
}
