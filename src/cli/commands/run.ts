import { ENGINES } from '../../listener/front/front-options.ts'
import { LOG_FORMATS, LOG_IDS, LOG_INJECTIONS, LOG_LEVELS } from '../../telemetry/log.ts'
import { parseControl } from '../flags/address.ts'
import { defineCommand } from '../flags/command.ts'
import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { type Range, parseChoice, parseCount, parseDuration, parseSize } from '../flags/units.ts'
import { parseRunRules } from '../run/rules-guard-options.ts'
import { RULES_RUN_FLAGS } from '../run/rules-run-flags.ts'
import { parseAdminToken, parseReadAccess } from '../flags/admin-access.ts'
import { parseAppProbes, parsePlaces, parsePublicUrl, PLACE_FLAGS } from '../run/run-places.ts'
import { parseListenerTls, parseUpstreamTls, checkTlsFiles, TLS_FLAGS } from '../run/run-tls.ts'

export const RUN_FLAGS = [
  ...PLACE_FLAGS,
  ...TLS_FLAGS,
  ...RULES_RUN_FLAGS,
  ...flagGroup('Behaviour:', {
    'ready-without-upstream': 'be ready also while the app is unreachable',
    strict: 'treat doubt as an error instead of letting traffic pass',
    engine: [
      'name',
      'fast forwards common exchanges as bytes, standard uses node:http and undici for all; clients and the app see the same',
      { default: 'fast' },
    ],
    'upstream-reuse': [
      'when',
      'always reuses connections to the app; never opens a connection for each request, so a stray response cannot reach another request',
      { default: 'always' },
    ],
  }),
  ...flagGroup('Bounds:', {
    'max-header-size': [
      'size',
      'largest header block of a request or a response',
      { default: '64KiB' },
    ],
    'max-body': [
      'size',
      'largest request body that is read for classification; larger ones pass unread',
      { default: '4MiB' },
    ],
    'max-memory': [
      'size',
      'memory for all messages in flight (default: 40 % of the heap, at most 20 % of the memory of the container)',
    ],
    'max-connections': ['number', 'most client connections', { default: '10000' }],
    'max-upstream-connections': ['number', 'most connections to the app', { default: '10000' }],
    'max-pending': [
      'number',
      'most calls that are tracked until their response',
      { default: '20000' },
    ],
    'max-sessions': ['number', 'most sessions that are tracked', { default: '10000' }],
  }),
  ...flagGroup('Times:', {
    'header-timeout': [
      'duration',
      'time for the headers of a request to arrive',
      { default: '60s' },
    ],
    'body-timeout': [
      'duration',
      'time without progress while the body of a request arrives',
      { default: '5m' },
    ],
    'hold-timeout': [
      'duration',
      'time for a buffered body to arrive: of a request that is classified, of a response that a fault changes; bodies at 1 KiB/s or more may take longer',
      { default: '2m' },
    ],
    'pending-ttl': [
      'duration',
      'how long a call without a response is tracked',
      { default: '10m' },
    ],
    'connect-timeout': ['duration', 'time to connect to the app', { default: '5s' }],
    'upstream-idle': [
      'duration',
      'time after which an idle connection to the app is closed; keep it below the keep-alive timeout of the app',
      { default: '3s' },
    ],
    'client-keepalive': [
      'duration',
      'time after which an idle client connection is closed',
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
    'log-format': [
      'format',
      'json, pretty for people, or auto: pretty on a terminal, json elsewhere',
      { default: 'auto' },
    ],
    'log-ids': [
      'how',
      'ids of calls in logs and the admin API: full, hash or off',
      { default: 'full' },
    ],
    'log-injections': [
      'which',
      'lines about injected faults: all, sample (at most 10 a second, and how many were left out) or off',
      { default: 'all' },
    ],
  }),
]

type RunFlag = (typeof RUN_FLAGS)[number]['name']

export const RUN = defineCommand({
  name: 'run',
  examples: [
    'run --upstream http://127.0.0.1:3000 --rules rules.yaml',
    'run --listen 127.0.0.1:15300 --upstream http://127.0.0.1:3000 --rules rules.yaml --dry-run',
  ],
  page: 'docs/guides/operations.md',
  description:
    'run the sidecar: accept traffic on one address and forward it to the app on another',
  flags: RUN_FLAGS,
  note: `
Each option can also be given as an environment variable: --max-header-size as SQUALL_MAX_HEADER_SIZE, switches
as true or false, repeated options separated by commas. The command line wins.
Sizes: 1024, 64KiB, 4MiB. Durations: 300ms, 5s, 10m, 1h.`,
  parse: parseRunOptions,
  start: async (options) => {
    checkTlsFiles(options)
    const { run } = await import('../run/run.ts')
    return run(options)
  },
})

/**
 * The checked, frozen options of `squall run`: times in milliseconds, sizes in bytes. Those of the data
 * path have the names of `SidecarOptions`.
 */
export type RunOptions = Readonly<ReturnType<typeof parseRunOptions>>

const HOUR = 3_600_000
const KIB = 1024
const MIB = 1024 * KIB
const HEAD: Range = { min: KIB, max: MIB }
const BODY: Range = { min: KIB, max: 256 * MIB }
const MEMORY: Range = { min: MIB, max: 1024 * 1024 * MIB }
const COUNT: Range = { min: 1, max: 10_000_000 }
// A day is far below the longest timer of Node.
const TIME: Range = { min: 1, max: 24 * HOUR }
const TIME_OR_NONE: Range = { min: 0, max: 24 * HOUR }

export function parseRunOptions(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(RUN_FLAGS, raw, env)
  const size = (name: RunFlag, range: Range): number => parseSize(flags.required(name), range)
  const count = (name: RunFlag): number => parseCount(flags.required(name), COUNT)
  const time = (name: RunFlag, range = TIME): number => parseDuration(flags.required(name), range)
  const { pairs, admin } = parsePlaces(flags)
  const adminToken = parseAdminToken(flags, env)
  return deepFreeze({
    pairs,
    /** Undefined when off. */
    admin,
    /** The path of the socket for hooks in the sidecar's container, if any. */
    control: flags.parsed('control', parseControl),
    /** The probes that the admin port sends to the app on behalf of Kubernetes. */
    appProbes: parseAppProbes(flags),
    /** Replaces the upstream's address in OAuth documents; undefined for no change. */
    publicUrl: flags.parsed('public-url', parsePublicUrl),
    /** The token for changes by the admin port; undefined when the port is read-only. */
    adminToken,
    adminAccess: parseReadAccess(flags, env, admin, adminToken),
    listenTls: parseListenerTls(flags),
    ...parseUpstreamTls(flags, pairs),
    rules: parseRunRules(flags, env),
    readyWithoutUpstream: flags.switch('ready-without-upstream'),
    strict: flags.switch('strict'),
    maxHeaderSize: size('max-header-size', HEAD),
    maxBody: size('max-body', BODY),
    /** Undefined for a share of the available memory. */
    maxMemory: flags.parsed('max-memory', (given) => parseSize(given, MEMORY)),
    maxConnections: count('max-connections'),
    maxUpstreamConnections: count('max-upstream-connections'),
    maxPending: count('max-pending'),
    maxSessions: count('max-sessions'),
    headerTimeout: time('header-timeout'),
    bodyTimeout: time('body-timeout'),
    holdTimeout: time('hold-timeout'),
    pendingTtl: time('pending-ttl'),
    connectTimeout: time('connect-timeout'),
    upstreamIdle: time('upstream-idle'),
    clientKeepalive: time('client-keepalive'),
    drainTimeout: time('drain-timeout', TIME_OR_NONE),
    engine: parseChoice(flags.required('engine'), ENGINES),
    upstreamReuse: parseChoice(flags.required('upstream-reuse'), ['always', 'never']) === 'always',
    logLevel: parseChoice(flags.required('log-level'), LOG_LEVELS),
    logFormat: parseChoice(flags.required('log-format'), LOG_FORMATS),
    logIds: parseChoice(flags.required('log-ids'), LOG_IDS),
    logInjections: parseChoice(flags.required('log-injections'), LOG_INJECTIONS),
  })
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) deepFreeze(part)
  }
  return Object.freeze(value)
}
