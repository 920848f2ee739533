import { ENGINES } from '../../listener/front/front-options.ts'
import { LOG_FORMATS, LOG_IDS, LOG_LEVELS } from '../../telemetry/log.ts'
import { parseControl } from '../flags/address.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { type Range, parseChoice, parseCount, parseDuration, parseSize } from '../flags/units.ts'
import { parseRunRules } from '../run/rules-guard-options.ts'
import { RULES_RUN_FLAGS } from '../run/rules-run-flags.ts'
import { parseAdminToken, parseReadAccess } from '../flags/admin-access.ts'
import { parseAppProbes, parsePlaces, parsePublicUrl, PLACE_FLAGS } from '../run/run-places.ts'
import { parseListenerTls, parseUpstreamTls, readTlsFiles, TLS_FLAGS } from '../run/run-tls.ts'

export const RUN_FLAGS = [
  ...PLACE_FLAGS,
  ...TLS_FLAGS,
  ...RULES_RUN_FLAGS,
  ...flagGroup('Behaviour:', {
    'ready-without-upstream': 'be ready even while the app cannot be reached',
    strict: 'treat doubt as an error instead of letting traffic pass',
    engine: [
      'name',
      'fast passes plain exchanges on as bytes, standard takes all of them through node:http and undici; what clients and the app see is the same',
      { default: 'fast' },
    ],
    'upstream-reuse': [
      'when',
      'always sends later requests over the same connections to the app; never opens one for each request, so that a stray response cannot answer another request',
      { default: 'always' },
    ],
  }),
  ...flagGroup('Bounds:', {
    'max-header-size': ['size', 'longest head of a request or a response', { default: '64KiB' }],
    'max-body': [
      'size',
      'how much of a request is read to classify it; longer ones pass unread',
      { default: '4MiB' },
    ],
    'max-memory': [
      'size',
      'what all messages in flight may hold in memory together; by default 40 % of the heap and at most 20 % of the memory of the container',
    ],
    'max-connections': ['number', 'client connections at a time', { default: '10000' }],
    'max-upstream-connections': [
      'number',
      'connections to the app at a time',
      { default: '10000' },
    ],
    'max-pending': [
      'number',
      'calls that are remembered until their response comes',
      { default: '20000' },
    ],
    'max-sessions': ['number', 'sessions that are remembered', { default: '10000' }],
  }),
  ...flagGroup('Times:', {
    'header-timeout': ['duration', 'time for the head of a request to arrive', { default: '60s' }],
    'body-timeout': [
      'duration',
      'time without progress while the body of a request arrives',
      { default: '5m' },
    ],
    'hold-timeout': [
      'duration',
      'time for a body that is held whole to arrive: of a request that is read, of a response that a fault changes; one that comes at 1 KiB/s or more may take longer',
      { default: '2m' },
    ],
    'pending-ttl': [
      'duration',
      'how long a call without a response is remembered',
      { default: '10m' },
    ],
    'connect-timeout': ['duration', 'time to connect to the app', { default: '5s' }],
    'upstream-idle': [
      'duration',
      'after how long an idle connection to the app is given up; keep it below the keep-alive timeout of the app',
      { default: '3s' },
    ],
    'client-keepalive': [
      'duration',
      'after how long an idle client connection is closed',
      { default: '10m' },
    ],
    'drain-timeout': [
      'duration',
      'time for exchanges in flight to end after SIGTERM; 0s for none',
      { default: '30s' },
    ],
  }),
  ...flagGroup('Logs:', {
    'log-level': ['level', 'debug, info, warn or error', { default: 'info' }],
    'log-format': ['format', 'json or pretty', { default: 'json' }],
    'log-ids': [
      'how',
      'ids of calls in logs and the admin API: full, hash or off',
      { default: 'full' },
    ],
  }),
]

export type RunFlag = (typeof RUN_FLAGS)[number]['name']

export const RUN = defineCommand({
  name: 'run',
  description: 'take traffic on one address and pass it to the app on another',
  flags: RUN_FLAGS,
  note: `
Each option can also be given as an environment variable: --max-header-size as SQUALL_MAX_HEADER_SIZE, switches
as true or false, repeated options separated by commas. The command line wins.
Sizes: 1024, 64KiB, 4MiB. Durations: 300ms, 5s, 10m, 1h.`,
  parse: parseRunOptions,
  start: async (options) => {
    readTlsFiles(options)
    const { run } = await import('../run/run.ts')
    return run(options)
  },
})

/** The checked, frozen options of `squall run`: times in milliseconds, sizes in bytes. */
export type RunOptions = Readonly<ReturnType<typeof parseRunOptions>>

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

export function parseRunOptions(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(RUN_FLAGS, raw, env)
  const size = (name: RunFlag, range: Range): number => parseSize(flags.required(name), range)
  const count = (name: RunFlag): number => parseCount(flags.required(name), COUNT)
  const time = (name: RunFlag, range = TIME): number => parseDuration(flags.required(name), range)
  const { routes, admin } = parsePlaces(flags)
  const adminToken = parseAdminToken(flags, env)
  return deepFreeze({
    routes,
    /** Undefined when it is off. */
    admin,
    /** Path of the socket for hooks in the sidecar's own container; undefined when there is none. */
    control: flags.parsed('control', parseControl),
    /** The probes that the admin port sends to the app on behalf of Kubernetes. */
    appProbes: parseAppProbes(flags),
    /** Replaces the upstream's address in OAuth documents; undefined for no change. */
    publicUrl: flags.parsed('public-url', parsePublicUrl),
    /** The token that changes by the admin port need; undefined when nothing can be changed. */
    adminToken,
    adminAccess: parseReadAccess(flags, env, admin, adminToken),
    tls: parseListenerTls(flags),
    upstreamTls: parseUpstreamTls(flags, routes),
    rules: parseRunRules(flags, env),
    readyWithoutUpstream: flags.switch('ready-without-upstream'),
    strict: flags.switch('strict'),
    maxHeaderBytes: size('max-header-size', HEAD),
    maxBodyBytes: size('max-body', BODY),
    /** Undefined for a share of the memory that there is. */
    maxMemoryBytes: flags.parsed('max-memory', (given) => parseSize(given, MEMORY)),
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
    engine: parseChoice(flags.required('engine'), ENGINES),
    upstreamReuse: parseChoice(flags.required('upstream-reuse'), UPSTREAM_REUSE),
    logLevel: parseChoice(flags.required('log-level'), LOG_LEVELS),
    logFormat: parseChoice(flags.required('log-format'), LOG_FORMATS),
    logIds: parseChoice(flags.required('log-ids'), LOG_IDS),
  })
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part)
  }
  return Object.freeze(value)
}
