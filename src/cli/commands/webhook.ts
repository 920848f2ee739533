import { LOG_FORMATS, LOG_LEVELS } from '../../telemetry/log.ts'
import { overlaps, parseListen } from '../flags/address.ts'
import {
  flagGroup,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { objectName } from '../kube/cluster-options.ts'
import { parseReadAccess, adminAccessFlags } from '../flags/admin-access.ts'
import { parseChoice, parseDuration, parseSize, type Range } from '../flags/units.ts'
import { badCombination, badValue } from '../flags/usage-error.ts'
import { CERTIFICATE_FLAGS, parseWebhookTls } from '../webhook/certificate-flags.ts'
import { defineCommand } from '../flags/command.ts'

const PLACES = 'Addresses:'

const FLAGS = [
  ...flagGroup(PLACES, {
    listen: [
      'address',
      'address for reviews, with TLS; :15443 in a pod',
      { default: '127.0.0.1:15443' },
    ],
    admin: [
      'address',
      'address of health, readiness and metrics, without TLS',
      { default: '127.0.0.1:15391' },
    ],
  }),
  ...adminAccessFlags(PLACES),
  ...flagGroup('Injection:', {
    settings: ['file', 'settings of the injector, as YAML or JSON'],
    'kubernetes-version': [
      'version',
      'version of the cluster, such as 1.33, until the API server reports it; decides whether native sidecars are used',
    ],
    'read-namespaces':
      'read labels and annotations of namespaces; needs the right to get namespaces',
    'read-services':
      'read Services, to warn of those that bypass the sidecar; needs the right to list services',
  }),
  ...CERTIFICATE_FLAGS,
  ...flagGroup('The API server:', {
    namespace: [
      'name',
      'namespace of the Secret (default: that of the pod or the context)',
      { short: 'n' },
    ],
    'cluster-ca': [
      'file',
      'CA of the API server, to read its version without credentials where no other access is needed',
    ],
    kubeconfig: ['file', 'kubeconfig to use (default: the service account of the pod)'],
    context: ['name', 'context of the kubeconfig'],
  }),
  ...flagGroup('Bounds and times:', {
    'max-review': ['size', 'largest review', { default: '8MiB' }],
    'review-timeout': [
      'duration',
      'time for a review to arrive; keep it below timeoutSeconds of the webhook configuration',
      { default: '4s' },
    ],
    'shutdown-delay': [
      'duration',
      'how long reviews are accepted after readiness ends',
      { default: '5s' },
    ],
    'drain-timeout': ['duration', 'time for reviews in flight to end', { default: '10s' }],
  }),
  ...flagGroup('Logs:', {
    'log-level': ['level', 'debug, info, warn or error', { default: 'info' }],
    'log-format': [
      'format',
      'json, pretty for people, or auto: pretty on a terminal, json elsewhere',
      { default: 'auto' },
    ],
  }),
]

type Flag = (typeof FLAGS)[number]['name']

export const WEBHOOK = defineCommand({
  name: 'webhook',
  examples: [
    'webhook --tls-dir /etc/squall/tls --settings settings.yaml',
    'webhook --listen :15443 --admin :15391 --tls-dir /etc/squall/tls --settings settings.yaml',
  ],
  page: 'docs/concepts/webhook.md',
  description: 'inject the sidecar into pods that request it: a mutating admission webhook',
  flags: FLAGS,
  note: `
Reviews are served at POST /mutate with TLS; /livez, /readyz and /metrics are on --admin.`,
  parse: parseWebhook,
  start: async (request) => (await import('../webhook/webhook.ts')).webhookCommand(request),
})

/** The options of `squall webhook`: times in milliseconds, sizes in bytes. */
export type WebhookRequest = ReturnType<typeof parseWebhook>

const MINUTE = 60_000
const REVIEW_SIZE: Range = { min: 64 * 1024, max: 64 * 1024 * 1024 }
// An API server waits at most thirty seconds.
const REVIEW_TIME: Range = { min: 100, max: 30_000 }
const END_TIME: Range = { min: 0, max: 10 * MINUTE }

function parseWebhook(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(FLAGS, raw, env)
  const time = (name: Flag, range: Range): number => parseDuration(flags.required(name), range)
  const listen = parseListen(flags.required('listen'))
  const admin = parseListen(flags.required('admin'))
  if (overlaps(listen, admin)) {
    throw badCombination(
      '--listen and --admin are the same address',
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

/** Parses the minor number of a version as clusters write it: `1.33`, `v1.33.2-gke.1`. */
function parseMinor(given: Given): number {
  const match = /^v?1\.(\d{1,3})\+?(?:[.+-].{0,100})?$/.exec(given.text)
  if (match !== null) return Number(match[1])
  throw badValue(given, 'is not a version of Kubernetes', 'write a version such as 1.33 or v1.33.2')
}
