import { adminAccessFlags } from './admin-access-flags.ts'
import { RULES_RUN_FLAGS } from '../run/rules-run-flags.ts'

/** Declares one option of a command. */
export interface FlagSpec {
  readonly name: string
  /** One letter that means the same. */
  readonly short?: string
  /** The placeholder of its value; none for a switch. */
  readonly value?: string
  readonly repeatable?: boolean
  readonly default?: string
  readonly group: string
  readonly help: string
}

const PLACES = 'Where to listen and where to send:'
const TLS = 'TLS:'
const BEHAVIOUR = 'Behaviour:'
const BOUNDS = 'Bounds:'
const TIMES = 'Times:'
const LOGS = 'Logs:'
const DEMO = 'Demo:'

/** The options of `squall run`. */
export const RUN_FLAGS = [
  {
    name: 'listen',
    value: 'address',
    repeatable: true,
    default: '127.0.0.1:15300',
    group: PLACES,
    help: 'address to take traffic on: host:port, :port or unix:/path.sock; repeat it for more',
  },
  {
    name: 'upstream',
    value: 'url',
    repeatable: true,
    default: 'http://127.0.0.1:3000',
    group: PLACES,
    help: 'where the app is: http://host:port, https://host or unix:/path.sock; one for each --listen, in the same order',
  },
  {
    name: 'admin',
    value: 'address',
    default: '127.0.0.1:15390',
    group: PLACES,
    help: 'address of health, readiness, metrics and the API of rules; off for none',
  },
  {
    name: 'admin-token-file',
    value: 'path',
    group: PLACES,
    help: 'file with the token that changes by the admin port need (or SQUALL_ADMIN_TOKEN itself); without one nothing can be changed there',
  },
  ...adminAccessFlags(PLACES),
  {
    name: 'upstream-host',
    value: 'host',
    group: PLACES,
    help: 'host that replaces the one of every --upstream, such as the address of the pod',
  },
  {
    name: 'public-url',
    value: 'url',
    group: PLACES,
    help: 'URL by which clients reach every --listen: replaces the address of the app in WWW-Authenticate and in the metadata of OAuth-protected resources; without it both pass unchanged',
  },
  {
    name: 'app-probes',
    value: 'json',
    group: PLACES,
    help: 'probes and hooks of the app, done unfaulted by the admin port: "container/readyz" → handler, as JSON',
  },
  {
    name: 'control',
    value: 'socket',
    group: PLACES,
    help: 'socket for squall pre-stop, in a place that only this container sees: unix:/path.sock',
  },
  { name: 'tls-cert', value: 'file', group: TLS, help: 'certificate to listen with, as PEM' },
  { name: 'tls-key', value: 'file', group: TLS, help: 'key of that certificate, as PEM' },
  {
    name: 'upstream-ca',
    value: 'file',
    group: TLS,
    help: 'certificates that the app is trusted by, as PEM, instead of the usual ones',
  },
  {
    name: 'upstream-cert',
    value: 'file',
    group: TLS,
    help: 'certificate to show to the app, as PEM',
  },
  {
    name: 'upstream-key',
    value: 'file',
    group: TLS,
    help: 'key of that certificate, as PEM',
  },
  {
    name: 'upstream-servername',
    value: 'name',
    group: TLS,
    help: 'name that the certificate of the app is for, when it is not the host of --upstream',
  },
  {
    name: 'upstream-insecure',
    group: TLS,
    help: 'accept any certificate of the app',
  },
  ...RULES_RUN_FLAGS,
  {
    name: 'ready-without-upstream',
    group: BEHAVIOUR,
    help: 'be ready even while the app cannot be reached',
  },
  {
    name: 'strict',
    group: BEHAVIOUR,
    help: 'treat doubt as an error instead of letting traffic pass',
  },
  {
    name: 'engine',
    value: 'name',
    default: 'fast',
    group: BEHAVIOUR,
    help: 'fast passes plain exchanges on as bytes, standard takes all of them through node:http and undici; what clients and the app see is the same',
  },
  {
    name: 'upstream-reuse',
    value: 'when',
    default: 'always',
    group: BEHAVIOUR,
    help: 'always sends later requests over the same connections to the app; never opens one for each request, so that a stray response cannot answer another request',
  },
  {
    name: 'max-header-size',
    value: 'size',
    default: '64KiB',
    group: BOUNDS,
    help: 'longest head of a request or a response',
  },
  {
    name: 'max-body',
    value: 'size',
    default: '4MiB',
    group: BOUNDS,
    help: 'how much of a request is read to classify it; longer ones pass unread',
  },
  {
    name: 'max-memory',
    value: 'size',
    group: BOUNDS,
    help: 'what all messages in flight may hold in memory together; by default 40 % of the heap and at most 20 % of the memory of the container',
  },
  {
    name: 'max-connections',
    value: 'number',
    default: '10000',
    group: BOUNDS,
    help: 'client connections at a time',
  },
  {
    name: 'max-upstream-connections',
    value: 'number',
    default: '10000',
    group: BOUNDS,
    help: 'connections to the app at a time',
  },
  {
    name: 'max-pending',
    value: 'number',
    default: '20000',
    group: BOUNDS,
    help: 'calls that are remembered until their response comes',
  },
  {
    name: 'max-sessions',
    value: 'number',
    default: '10000',
    group: BOUNDS,
    help: 'sessions that are remembered',
  },
  {
    name: 'header-timeout',
    value: 'duration',
    default: '60s',
    group: TIMES,
    help: 'time for the head of a request to arrive',
  },
  {
    name: 'body-timeout',
    value: 'duration',
    default: '5m',
    group: TIMES,
    help: 'time without progress while the body of a request arrives',
  },
  {
    name: 'hold-timeout',
    value: 'duration',
    default: '2m',
    group: TIMES,
    help: 'time for a body that is held whole to arrive: of a request that is read, of a response that a fault changes; one that comes at 1 KiB/s or more may take longer',
  },
  {
    name: 'pending-ttl',
    value: 'duration',
    default: '10m',
    group: TIMES,
    help: 'how long a call without a response is remembered',
  },
  {
    name: 'connect-timeout',
    value: 'duration',
    default: '5s',
    group: TIMES,
    help: 'time to connect to the app',
  },
  {
    name: 'upstream-idle',
    value: 'duration',
    default: '3s',
    group: TIMES,
    help: 'after how long an idle connection to the app is given up; keep it below the keep-alive timeout of the app',
  },
  {
    name: 'client-keepalive',
    value: 'duration',
    default: '10m',
    group: TIMES,
    help: 'after how long an idle client connection is closed',
  },
  {
    name: 'drain-timeout',
    value: 'duration',
    default: '30s',
    group: TIMES,
    help: 'time for exchanges in flight to end after SIGTERM; 0s for none',
  },
  {
    name: 'log-level',
    value: 'level',
    default: 'info',
    group: LOGS,
    help: 'debug, info, warn or error',
  },
  { name: 'log-format', value: 'format', default: 'json', group: LOGS, help: 'json or pretty' },
  {
    name: 'log-ids',
    value: 'how',
    default: 'full',
    group: LOGS,
    help: 'ids of calls in logs and the admin API: full, hash or off',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall run`. */
export type RunFlag = (typeof RUN_FLAGS)[number]['name']

/** The options of `squall demo`. */
export const DEMO_FLAGS = [
  { name: 'json', group: DEMO, help: 'print the results as one line of JSON, and nothing else' },
  {
    name: 'stay',
    group: DEMO,
    help: 'keep app, sidecar and a gentle load running until Ctrl-C, with the admin page and rules to edit',
  },
  {
    name: 'report',
    value: 'file',
    group: DEMO,
    help: 'where to write the HTML report; a file in the directory for temporary ones by default, and none with --json',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall demo`. */
export type DemoFlag = (typeof DEMO_FLAGS)[number]['name']

/** The environment variable that stands for an option. */
export function envName(flag: string): string {
  return `SQUALL_${flag.toUpperCase().replaceAll('-', '_')}`
}
