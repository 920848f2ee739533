import { quoted } from '../../base/text/foreign-text.ts'
import { LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log.ts'
import { overlaps, parseListen } from '../flags/address.ts'
import {
  type Environment,
  type FlagSpec,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { objectName } from '../kube/cluster-options.ts'
import { parseReadAccess, adminAccessFlags } from '../flags/admin-access.ts'
import { parseChoice, parseDuration, parseSize, type Range } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import { CERTIFICATE_FLAGS, parseWebhookTls } from '../webhook/certificate-flags.ts'
import { defineCommand } from '../flags/command.ts'

const PLACES = 'Where to listen:'
const INJECTION = 'What is injected:'
const CLUSTER = 'The API server, where it is needed:'
const BOUNDS = 'Bounds and times:'
const LOGS = 'Logs:'

const FLAGS = [
  {
    name: 'listen',
    value: 'address',
    default: '127.0.0.1:15443',
    group: PLACES,
    help: 'address to take reviews on, with TLS; :15443 in a pod',
  },
  {
    name: 'admin',
    value: 'address',
    default: '127.0.0.1:15391',
    group: PLACES,
    help: 'address of health, readiness and metrics, without TLS',
  },
  ...adminAccessFlags(PLACES),
  {
    name: 'settings',
    value: 'file',
    group: INJECTION,
    help: 'settings of the injector, as YAML or JSON',
  },
  {
    name: 'kubernetes-version',
    value: 'version',
    group: INJECTION,
    help: 'version of the cluster, such as 1.33, until the API server has said it; decides whether native sidecars are used',
  },
  {
    name: 'read-namespaces',
    group: INJECTION,
    help: 'read labels and annotations of namespaces; needs the right to get namespaces',
  },
  {
    name: 'read-services',
    group: INJECTION,
    help: 'read Services, to warn of those that would go past the sidecar; needs the right to list services',
  },
  ...CERTIFICATE_FLAGS,
  {
    name: 'namespace',
    short: 'n',
    value: 'name',
    group: CLUSTER,
    help: 'namespace of the Secret (default: that of the pod or the context)',
  },
  {
    name: 'cluster-ca',
    value: 'file',
    group: CLUSTER,
    help: 'CA of the API server, to ask its version without credentials where it is not needed otherwise',
  },
  {
    name: 'kubeconfig',
    value: 'file',
    group: CLUSTER,
    help: 'kubeconfig to use (default: the service account of the pod)',
  },
  { name: 'context', value: 'name', group: CLUSTER, help: 'context of it' },
  {
    name: 'max-review',
    value: 'size',
    default: '8MiB',
    group: BOUNDS,
    help: 'largest review that is read',
  },
  {
    name: 'review-timeout',
    value: 'duration',
    default: '4s',
    group: BOUNDS,
    help: 'time for a review to arrive; keep it below timeoutSeconds of the webhook configuration',
  },
  {
    name: 'shutdown-delay',
    value: 'duration',
    default: '5s',
    group: BOUNDS,
    help: 'how long reviews are still taken after readiness was given up',
  },
  {
    name: 'drain-timeout',
    value: 'duration',
    default: '10s',
    group: BOUNDS,
    help: 'time for reviews in flight to end',
  },
  {
    name: 'log-level',
    value: 'level',
    default: 'info',
    group: LOGS,
    help: 'debug, info, warn or error',
  },
  { name: 'log-format', value: 'format', default: 'json', group: LOGS, help: 'json or pretty' },
] as const satisfies readonly FlagSpec[]

type Flag = (typeof FLAGS)[number]['name']

export const WEBHOOK = defineCommand({
  name: 'webhook',
  description: 'put the sidecar into pods that ask for it: a mutating admission webhook',
  flags: FLAGS,
  note: `
Reviews are taken at POST /mutate with TLS; /livez, /readyz and /metrics are on --admin.`,
  parse: parseWebhook,
  start: async (request) => {
    const { webhookCommand } = await import('../webhook/webhook.ts')
    return webhookCommand(request)
  },
})

/** The options of `squall webhook`: times in milliseconds, sizes in bytes. */
export type WebhookRequest = ReturnType<typeof parseWebhook>

const MINUTE = 60_000
const REVIEW_SIZE: Range = { min: 64 * 1024, max: 64 * 1024 * 1024 }
// An API server waits for thirty seconds at most.
const REVIEW_TIME: Range = { min: 100, max: 30_000 }
const END_TIME: Range = { min: 0, max: 10 * MINUTE }

function parseWebhook(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(FLAGS, raw, env)
  const time = (name: Flag, range: Range): number => parseDuration(flags.required(name), range)
  const listen = parseListen(flags.required('listen'))
  const admin = parseListen(flags.required('admin'))
  if (overlaps(listen, admin)) {
    throw new UsageError(
      'BAD_COMBINATION',
      '--listen and --admin are one address',
      'choose another for one of the two',
    )
  }
  return {
    listen,
    admin,
    adminAccess: parseReadAccess(flags, env, admin),
    settingsFile: flags.optional('settings')?.text,
    minor: flags.parsed('kubernetes-version', parseMinor),
    readNamespaces: flags.switch('read-namespaces'),
    readServices: flags.switch('read-services'),
    tls: parseWebhookTls(flags),
    cluster: {
      namespace: flags.parsed('namespace', objectName),
      kubeconfig: flags.optional('kubeconfig')?.text,
      context: flags.optional('context')?.text,
      caFile: flags.optional('cluster-ca')?.text,
      env,
    },
    maxReviewBytes: parseSize(flags.required('max-review'), REVIEW_SIZE),
    reviewTimeoutMs: time('review-timeout', REVIEW_TIME),
    shutdownDelayMs: time('shutdown-delay', END_TIME),
    drainTimeoutMs: time('drain-timeout', END_TIME),
    logLevel: parseChoice(flags.required('log-level'), LOG_LEVELS),
    logFormat: parseChoice(flags.required('log-format'), LOG_FORMATS),
  }
}

/** Returns the minor number of a version as clusters write it: `1.33`, `v1.33.2-gke.1`. */
function parseMinor(given: Given): number {
  const match = /^v?1\.(\d{1,3})\+?(?:[.+-].{0,100})?$/.exec(given.text)
  if (match !== null) return Number(match[1])
  throw new UsageError(
    'BAD_VALUE',
    `${given.source}: ${quoted(given.text)} is no version of Kubernetes`,
    'write it as 1.33 or v1.33.2',
  )
}
