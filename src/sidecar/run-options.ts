import { deepFreeze } from '../base/values.ts'
import { ENGINES } from '../listener/front/front-options.ts'
import { METRICS_DETAILS } from '../telemetry/metric-table.ts'
import { ERROR_MESSAGES, LOG_IDS, LOG_INJECTIONS } from '../telemetry/log.ts'
import { adminTokenOf, readAccessOf } from './flags/admin-access.ts'
import {
  type Environment,
  group,
  only,
  type RawFlags,
  readFlags,
  type Values,
} from '../base/flags/flag.ts'
import { count, duration, one, oneOf, pathTo, size, toggle } from '../base/flags/kinds.ts'
import { LOG_FLAGS } from './flags/log.ts'
import { RULES_FLAGS, rulesOf } from './rules-options.ts'
import { TAPE_FLAGS, tapeOf } from './tape-options.ts'
import { TRACING_FLAGS, tracingOf } from './tracing-options.ts'
import { TASK_FLAGS, tasksOf } from './task-options.ts'
import { OUTBOUND_FLAGS, outboundOf, outboundTlsOf } from './outbound-options.ts'
import { appProbesOf, compatOf, TARGET_FLAGS, targetsOf } from './run-targets.ts'
import { listenerTlsOf, TLS_FLAGS, upstreamTlsOf } from './run-tls.ts'

const KIB = 1024
const MIB = 1024 * KIB
const COUNT = { min: 1, max: 10_000_000 }
// A day is far below the longest timer of Node.
const TIME = { min: 1, max: 24 * 3_600_000 }

const OWN_FLAGS = {
  ...group('Behaviour:', {
    readyWithoutUpstream: toggle('report ready even while the upstream is unreachable'),
    strict: toggle(
      'respond with status 500 when Squall itself fails, and exit on an uncaught error',
    ),
    trustMarkers: toggle(
      'trust the markers of another Squall in front of the upstream: its injected errors do not count as real; use only if the upstream cannot set markers itself',
    ),
    engine: one(
      'name',
      'HTTP engine: fast (own parser for common exchanges) or standard (node:http and undici for all exchanges); both forward the same bytes',
      oneOf(ENGINES),
      { default: 'fast' },
    ),
    upstreamReuse: one(
      'mode',
      'whether to reuse upstream connections: always, or never (a new connection for each request, so that a stray response cannot reach another request)',
      (given) => oneOf(['always', 'never'])(given) === 'always',
      { default: 'always' },
    ),
  }),
  ...group('Limits:', {
    maxHeaderSize: size('maximum size of a header block', { min: KIB, max: MIB }, '64KiB'),
    maxBody: size(
      'maximum body size to parse; larger bodies pass through unparsed',
      { min: KIB, max: 256 * MIB },
      '4MiB',
    ),
    maxMemory: size(
      "memory limit for in-flight messages (default: 40 % of the heap, at most 20 % of the container's memory)",
      { min: MIB, max: 1024 * 1024 * MIB },
    ),
    maxConnections: count(
      'maximum number of client connections per listener; less if the limit on open files is too low',
      COUNT,
      '10000',
    ),
    maxUpstreamConnections: count(
      'maximum number of upstream connections per listener; less if the limit on open files is too low',
      COUNT,
      '10000',
    ),
    maxInFlight: count('maximum in-flight calls in sessions to track per listener', COUNT, '20000'),
    maxSessions: count('maximum number of sessions to track per listener', COUNT, '10000'),
  }),
  ...group('Timeouts:', {
    headerTimeout: duration('timeout for request headers', TIME, '60s'),
    bodyTimeout: duration(
      'maximum time without progress while receiving a request body',
      TIME,
      '5m',
    ),
    holdTimeout: duration(
      'timeout for a buffered body: a parsed request, or a response that a fault changes; bodies at 1 KiB/s or more may take longer',
      TIME,
      '2m',
    ),
    inFlightTtl: duration(
      'how long to track a call without a response, unless its HTTP exchange is open',
      TIME,
      '10m',
    ),
    connectTimeout: duration('timeout for connecting to the upstream', TIME, '5s'),
    upstreamIdle: duration(
      'idle timeout of upstream connections; keep it below the keep-alive timeout of the upstream',
      TIME,
      '3s',
    ),
    clientKeepalive: duration('idle timeout of client connections', TIME, '10m'),
    drainTimeout: duration(
      'how long to wait for in-flight exchanges after SIGTERM; 0s means no wait',
      { ...TIME, min: 0 },
      '30s',
    ),
  }),
  ...group('Metrics:', {
    metricsDetail: one(
      'mode',
      'level of detail of /metrics: basic aggregates latency across tools, with fewer buckets; full adds latency by tool and squall_errors_total',
      oneOf(METRICS_DETAILS),
      { default: 'basic' },
    ),
  }),
  ...LOG_FLAGS,
  ...group('Logs:', {
    logIds: one(
      'mode',
      'how to show call IDs in logs, spans and the admin API: full, hash or off',
      oneOf(LOG_IDS),
      {
        default: 'full',
      },
    ),
    errorMessages: one(
      'mode',
      'error messages in spans and the admin API, which may contain personal data: redacted (without secrets) or off',
      oneOf(ERROR_MESSAGES),
      { default: 'redacted' },
    ),
    callLog: one(
      'file',
      'file to which one JSON line is appended per completed call, or - for standard output; reopened when the file is moved, and on SIGHUP',
      pathTo('name a file, or - for standard output'),
    ),
    callLogSize: size(
      'size at which the call log is rotated to FILE.1, replacing an older FILE.1',
      { min: 4 * MIB, max: 1024 * 1024 * MIB },
      '100MiB',
    ),
    logInjections: one(
      'mode',
      'which injected faults to log: all, sample (at most 10 lines per second, with the number of omitted lines) or off',
      oneOf(LOG_INJECTIONS),
      { default: 'all' },
    ),
  }),
  ...TAPE_FLAGS,
}

export const RUN_FLAGS = {
  ...TARGET_FLAGS,
  ...TLS_FLAGS,
  ...OUTBOUND_FLAGS,
  ...RULES_FLAGS,
  ...OWN_FLAGS,
  ...TASK_FLAGS,
  ...TRACING_FLAGS,
}

/**
 * The checked, frozen options of `squall run`: times in milliseconds, sizes in bytes. Those of the
 * data path have the names of `SidecarOptions`.
 */
export type RunOptions = ReturnType<typeof runOptionsOf>

/** Returns the options of `squall run` from the texts of flags. Throws a `UsageError`. */
export function parseRunOptions(raw: RawFlags, env: Environment): RunOptions {
  return runOptionsOf(readFlags(RUN_FLAGS, raw, env), env)
}

/** Returns the options of a sidecar in this process by the names of flags. Throws a `UsageError`. */
export function namedOptions(
  flags: Readonly<Record<string, string | readonly string[]>>,
  env: Environment,
): RunOptions {
  const raw = Object.entries(flags).map(([name, value]) => [name, [value].flat()] as const)
  return parseRunOptions(new Map(raw), env)
}

/**
 * Returns the options of a sidecar in this process whose faults are a part of a test, without an
 * admin port. Throws where the environment names production.
 */
export function armedOptions(flags: Parameters<typeof namedOptions>[0]): RunOptions {
  const { NODE_ENV, ENVIRONMENT } = process.env
  // The errors of a server under test are a part of the test.
  const own = { admin: 'off', 'guard-error-rate': 'off' }
  const options = namedOptions({ ...own, ...flags }, { NODE_ENV, ENVIRONMENT })
  const { neverArmed } = options.rules
  if (neverArmed !== undefined) {
    const why = neverArmed.replace(/; --allow.*$/, '; set ENVIRONMENT to a name such as test')
    throw new Error(`no fault is injected here: ${why}`)
  }
  return options
}

/** Checks the flags of `squall run` together. Throws a `UsageError`. */
export function runOptionsOf(flags: Values<typeof RUN_FLAGS>, env: Environment) {
  const outbound = outboundOf(flags)
  const { pairs, admin } = targetsOf(flags, outbound)
  const adminToken = adminTokenOf(flags.adminTokenFile, env)
  return deepFreeze({
    ...only(flags, OWN_FLAGS),
    control: flags.control,
    publicUrl: flags.publicUrl,
    pairs,
    outbound: outbound.routes,
    outboundTls: outboundTlsOf(flags, pairs),
    /** Undefined when off. */
    admin,
    /** The probes that the admin port sends to the upstream on behalf of Kubernetes. */
    appProbes: appProbesOf(flags),
    /** The token for changes by the admin port; undefined when the port is read-only. */
    adminToken,
    /** Undefined without `--compat-api`. */
    compatApi: compatOf(flags, env),
    adminAccess: readAccessOf(flags, env, admin, adminToken),
    listenTls: listenerTlsOf(flags),
    ...upstreamTlsOf(
      flags,
      pairs.filter(({ isOutbound }) => isOutbound !== true),
    ),
    rules: rulesOf(flags, env),
    /** Undefined when nothing is recorded. */
    tape: tapeOf(flags),
    /** Undefined when agents are not watched. */
    tasks: tasksOf(flags),
    /** Undefined when no spans are exported. */
    tracing: tracingOf(flags, env),
    traceUrl: flags.traceUrl,
  })
}
