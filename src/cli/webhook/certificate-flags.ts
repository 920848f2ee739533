import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { isHost } from '../flags/host.ts'
import { objectName } from '../kube/cluster-options.ts'
import { parseDuration, type Range } from '../flags/units.ts'
import { badCombination, badValue, missing } from '../flags/usage-error.ts'
import type { ManagedOptions } from '../../cluster/webhook/managed-certificate.ts'
import type { PublishOptions } from '../../cluster/webhook/published-ca.ts'

/** Declares the options of `squall webhook` about its certificate. */
export const CERTIFICATE_FLAGS = flagGroup(
  'The certificate, from a directory or issued by squall:',
  {
    'tls-dir': [
      'directory',
      'directory with tls.crt and tls.key, which is watched; with --webhook-configuration also ca.crt, the CA to publish',
    ],
    'tls-secret': [
      'name',
      'Secret in which squall keeps the CA and the serving certificate that it issues and renews',
    ],
    'tls-host': [
      'name',
      'host name in the issued certificate, such as squall.chaos.svc; repeat it for more',
      { repeatable: true },
    ],
    'webhook-configuration': [
      'name',
      'MutatingWebhookConfiguration in which squall publishes the CA',
    ],
    'validating-configuration': [
      'name',
      'ValidatingWebhookConfiguration in which squall publishes the CA, too',
    ],
    'ca-lifetime': ['duration', 'lifetime of the CA', { default: '87600h' }],
    'leaf-lifetime': ['duration', 'lifetime of a serving certificate', { default: '2160h' }],
    'rotate-before': [
      'duration',
      'how long before its expiry a certificate is replaced',
      { default: '720h' },
    ],
    'certificate-check': [
      'duration',
      'how often to check the Secret and the webhook configurations',
      { default: '1m' },
    ],
    'ca-settle': [
      'duration',
      'how long to wait before a certificate of a new CA is used, so that API servers see the CA first',
      { default: '10s' },
    ],
  },
)

type CertificateFlag = (typeof CERTIFICATE_FLAGS)[number]['name']

/** The source of the serving certificate. */
export type WebhookTls =
  | {
      readonly kind: 'mounted'
      readonly directory: string
      readonly settleMs: number
      readonly publish: PublishOptions | undefined
    }
  | ({ readonly kind: 'managed' } & Omit<ManagedOptions, 'namespace'>)

const HOUR = 3_600_000
const LIFETIME: Range = { min: 1_000, max: 50 * 8_766 * HOUR }
const CHECK: Range = { min: 10, max: 24 * HOUR }
const SETTLE: Range = { min: 0, max: HOUR }

/** Parses the options about the certificate: one source with its options. Throws a `UsageError`. */
export function parseWebhookTls(flags: FlagValues<CertificateFlag>): WebhookTls {
  const directory = flags.optional('tls-dir')
  const secret = flags.optional('tls-secret')
  if (directory !== undefined && secret !== undefined) {
    throw badCombination(
      `${directory.source} and ${secret.source} contradict each other`,
      'leave one out',
    )
  }
  if (directory !== undefined) return mounted(flags, directory)
  if (secret === undefined) {
    throw missing(
      'no certificate',
      'name a directory with --tls-dir, or a Secret with --tls-secret',
    )
  }
  return managed(flags, secret)
}

function mounted(flags: FlagValues<CertificateFlag>, directory: Given): WebhookTls {
  const configuration = flags.optional('webhook-configuration')
  const validating = flags.optional('validating-configuration')
  const host = flags.optional('tls-host')
  const useless = host ?? (configuration === undefined ? validating : undefined)
  if (useless !== undefined) {
    const without = useless === host ? '' : ' without --webhook-configuration'
    throw badCombination(
      `${useless.source} has no effect with ${directory.source}${without}`,
      'leave it out',
    )
  }
  const settleMs = time(flags, 'ca-settle', SETTLE)
  const publish = configuration && {
    configuration: objectName(configuration),
    validating: validating && objectName(validating),
    checkMs: time(flags, 'certificate-check', CHECK),
    settleMs,
  }
  return { kind: 'mounted', directory: directory.text, settleMs, publish }
}

function time(flags: FlagValues<CertificateFlag>, name: CertificateFlag, range: Range): number {
  return parseDuration(flags.required(name), range)
}

function managed(flags: FlagValues<CertificateFlag>, secret: Given): WebhookTls {
  const [first, ...rest] = flags.all('tls-host').map(hostName)
  const configuration = flags.optional('webhook-configuration')
  const validating = flags.optional('validating-configuration')
  if (first === undefined || configuration === undefined) {
    const lacking = first === undefined ? '--tls-host' : '--webhook-configuration'
    throw missing(`${secret.source} needs ${lacking}`, 'add it')
  }
  const servingMs = time(flags, 'leaf-lifetime', LIFETIME)
  const rotateBeforeMs = time(flags, 'rotate-before', LIFETIME)
  const checkMs = time(flags, 'certificate-check', CHECK)
  const caMs = time(flags, 'ca-lifetime', LIFETIME)
  const settleMs = time(flags, 'ca-settle', SETTLE)
  if (rotateBeforeMs >= servingMs) {
    throw badCombination(
      '--rotate-before is not shorter than --leaf-lifetime',
      'choose about a third of it',
    )
  }
  // A check may be a quarter of its interval late, and a new CA has to reach the API servers.
  if (2 * checkMs + settleMs > rotateBeforeMs) {
    throw badCombination(
      '--rotate-before leaves no time for two certificate checks',
      'make it longer, or --certificate-check and --ca-settle shorter',
    )
  }
  if (caMs < 2 * servingMs) {
    throw badCombination('--ca-lifetime is shorter than twice --leaf-lifetime', 'make it longer')
  }
  return {
    kind: 'managed',
    secret: objectName(secret),
    hosts: [first, ...rest],
    configuration: objectName(configuration),
    validating: validating && objectName(validating),
    caMs,
    servingMs,
    rotateBeforeMs,
    checkMs,
    settleMs,
  }
}

function hostName({ text, source }: Given): string {
  if (isHost(text) && !text.endsWith('.')) return text
  throw badValue({ text, source }, 'is not a host name', 'write a name such as squall.chaos.svc')
}
