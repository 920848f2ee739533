import { flagGroup, type FlagValues, type Given } from '../flags/flag-values.ts'
import { isHost } from '../flags/host.ts'
import { objectName } from '../kube/cluster-options.ts'
import { parseDuration, type Range } from '../flags/units.ts'
import { badCombination, badValue, UsageError } from '../flags/usage-error.ts'
import type { PublishOptions } from '../../cluster/webhook/published-ca.ts'

/** The options of `squall webhook` about its certificate. */
export const CERTIFICATE_FLAGS = flagGroup(
  'The certificate, from a directory or made by squall itself:',
  {
    'tls-dir': [
      'directory',
      'directory with tls.crt and tls.key, which is watched; with --webhook-configuration also ca.crt, which that has to trust',
    ],
    'tls-secret': [
      'name',
      'Secret in which squall keeps an authority and a certificate that it makes and renews itself',
    ],
    'tls-host': [
      'name',
      'name that such a certificate is for, as squall.chaos.svc; repeat it for more',
      { repeatable: true },
    ],
    'webhook-configuration': ['name', 'MutatingWebhookConfiguration that has to trust the CA'],
    'validating-configuration': [
      'name',
      'ValidatingWebhookConfiguration that has to trust the CA, too',
    ],
    'ca-lifetime': ['duration', 'how long an authority is good', { default: '87600h' }],
    'leaf-lifetime': ['duration', 'how long a certificate is good', { default: '2160h' }],
    'rotate-before': [
      'duration',
      'how long before its end a certificate is replaced',
      { default: '720h' },
    ],
    'certificate-check': [
      'duration',
      'how often the Secret and the webhook configuration are looked at',
      { default: '1m' },
    ],
    'ca-settle': [
      'duration',
      'how long API servers get to notice a new authority before a certificate of it is used',
      { default: '10s' },
    ],
  },
)

type CertificateFlag = (typeof CERTIFICATE_FLAGS)[number]['name']

/** The source of the certificate. */
export type WebhookTls =
  | {
      readonly kind: 'mounted'
      readonly directory: string
      readonly settleMs: number
      readonly publish: PublishOptions | undefined
    }
  | {
      readonly kind: 'managed'
      readonly secret: string
      readonly hosts: readonly [string, ...string[]]
      readonly configuration: string
      readonly validating: string | undefined
      readonly authorityMs: number
      readonly leafMs: number
      readonly rotateBeforeMs: number
      readonly checkMs: number
      readonly settleMs: number
    }

const HOUR = 3_600_000
const LIFETIME: Range = { min: 1_000, max: 50 * 8_766 * HOUR }
const CHECK: Range = { min: 10, max: 24 * HOUR }
const SETTLE: Range = { min: 0, max: HOUR }

/** Checks the options about the certificate: one source, with all that belongs to it. */
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
    throw new UsageError(
      'MISSING_VALUE',
      'there is no certificate',
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
    const missing = first === undefined ? '--tls-host' : '--webhook-configuration'
    throw new UsageError('MISSING_VALUE', `${secret.source} needs ${missing}`, 'add it')
  }
  const leafMs = time(flags, 'leaf-lifetime', LIFETIME)
  const rotateBeforeMs = time(flags, 'rotate-before', LIFETIME)
  const checkMs = time(flags, 'certificate-check', CHECK)
  const authorityMs = time(flags, 'ca-lifetime', LIFETIME)
  const settleMs = time(flags, 'ca-settle', SETTLE)
  if (rotateBeforeMs >= leafMs) {
    throw badCombination(
      '--rotate-before is not shorter than --leaf-lifetime',
      'choose about a third of it',
    )
  }
  // Checks come up to a quarter later, and a new authority has to settle.
  if (2 * checkMs + settleMs > rotateBeforeMs) {
    throw badCombination(
      '--rotate-before leaves no time for two checks',
      'make it longer, or --certificate-check and --ca-settle shorter',
    )
  }
  if (authorityMs < 2 * leafMs) {
    throw badCombination('--ca-lifetime is shorter than two of --leaf-lifetime', 'make it longer')
  }
  return {
    kind: 'managed',
    secret: objectName(secret),
    hosts: [first, ...rest],
    configuration: objectName(configuration),
    validating: validating && objectName(validating),
    authorityMs,
    leafMs,
    rotateBeforeMs,
    checkMs,
    settleMs,
  }
}

function hostName({ text, source }: Given): string {
  if (isHost(text) && !text.endsWith('.')) return text
  throw badValue({ text, source }, 'is no name of a host', 'write it as squall.chaos.svc')
}
