import {
  asGiven,
  duration,
  type FlagInput,
  group,
  invalidCombination,
  invalidValue,
  many,
  missing,
  one,
  type Values,
} from '#cli'
import { isHost } from '#protocol'
import type { PublishOptions } from '../webhook/ca-publisher.ts'
import type { ManagedOptions } from '../webhook/managed-certificate.ts'
import { parseObjectName } from './cluster-options.ts'

const HOUR = 3_600_000
const LIFETIME = { min: 1_000, max: 50 * 8_766 * HOUR }

/** Declares the options of `squall webhook` about its certificate. */
export const CERTIFICATE_FLAGS = group(
  'The certificate, read from a directory or issued by Squall:',
  {
    tlsDir: one(
      'directory',
      'directory with tls.crt and tls.key, watched for changes; with --webhook-configuration also ca.crt, the CA to publish',
      asGiven<FlagInput>,
    ),
    tlsSecret: one(
      'name',
      'Secret for the CA and the serving certificate, which Squall issues and renews',
      asGiven<FlagInput>,
    ),
    tlsHost: many(
      'name',
      'host name in the issued certificate, such as squall.chaos.svc; repeatable',
      asGiven<readonly FlagInput[]>,
    ),
    webhookConfiguration: one(
      'name',
      'MutatingWebhookConfiguration in which Squall publishes the CA',
      asGiven<FlagInput>,
    ),
    validatingConfiguration: one(
      'name',
      'ValidatingWebhookConfiguration in which Squall also publishes the CA',
      asGiven<FlagInput>,
    ),
    caLifetime: duration('lifetime of the CA', LIFETIME, '87600h'),
    certificateLifetime: duration('lifetime of a serving certificate', LIFETIME, '2160h'),
    rotateBefore: duration(
      'time before expiry at which a certificate is renewed',
      LIFETIME,
      '720h',
    ),
    certificateCheck: duration(
      'interval for checking the Secret and the webhook configurations',
      { min: 10, max: 24 * HOUR },
      '1m',
    ),
    caSettle: duration(
      'delay before a certificate from a new CA is served, so that API servers have time to load the CA',
      { min: 0, max: HOUR },
      '10s',
    ),
  },
)

type CertificateValues = Values<typeof CERTIFICATE_FLAGS>

/**
 * Returns the certificate to use: one source with its options; the namespace of a Secret is not known
 * yet. Throws a `UsageError`.
 */
export function webhookTlsOf(flags: CertificateValues) {
  const { tlsDir, tlsSecret } = flags
  if (tlsDir !== undefined && tlsSecret !== undefined) {
    const wrong = `${tlsDir.source} and ${tlsSecret.source} are mutually exclusive`
    throw invalidCombination(wrong, 'remove one of them')
  }
  if (tlsDir !== undefined) return mounted(flags, tlsDir)
  if (tlsSecret !== undefined) return managed(flags, tlsSecret)
  throw missing('no certificate', 'set --tls-dir or --tls-secret')
}

function mounted(flags: CertificateValues, directory: FlagInput) {
  const { webhookConfiguration: configuration, validatingConfiguration: validating } = flags
  const [host] = flags.tlsHost
  const useless = host ?? (configuration === undefined ? validating : undefined)
  if (useless !== undefined) {
    const without = useless === host ? '' : ' without --webhook-configuration'
    const wrong = `${useless.source} has no effect with ${directory.source}${without}`
    throw invalidCombination(wrong, 'remove it')
  }
  const publish: PublishOptions | undefined = configuration && {
    configuration: parseObjectName(configuration),
    validating: validating && parseObjectName(validating),
    checkMs: flags.certificateCheck,
    settleMs: flags.caSettle,
  }
  const { text } = directory
  return { kind: 'mounted' as const, directory: text, settleMs: flags.caSettle, publish }
}

function managed(flags: CertificateValues, secret: FlagInput) {
  const [first, ...rest] = flags.tlsHost.map(hostName)
  const { webhookConfiguration: configuration, validatingConfiguration: validating } = flags
  if (first === undefined || configuration === undefined) {
    const lacking = first === undefined ? '--tls-host' : '--webhook-configuration'
    throw missing(`${secret.source} needs ${lacking}`, 'add it')
  }
  const { certificateLifetime: servingMs, rotateBefore: rotateBeforeMs, caLifetime: caMs } = flags
  const { certificateCheck: checkMs, caSettle: settleMs } = flags
  if (rotateBeforeMs >= servingMs) {
    const wrong = '--rotate-before must be shorter than --certificate-lifetime'
    throw invalidCombination(wrong, 'use about a third of --certificate-lifetime')
  }
  // A check may be a quarter of its interval late, and a new CA has to reach the API servers.
  if (2 * checkMs + settleMs > rotateBeforeMs) {
    const fix =
      'use a longer --rotate-before, or shorter values of --certificate-check and --ca-settle'
    throw invalidCombination(
      '--rotate-before must be at least --ca-settle plus twice --certificate-check',
      fix,
    )
  }
  if (caMs < 2 * servingMs) {
    const wrong = '--ca-lifetime must be at least twice --certificate-lifetime'
    throw invalidCombination(wrong, 'use a longer --ca-lifetime')
  }
  return {
    kind: 'managed',
    secret: parseObjectName(secret),
    hosts: [first, ...rest],
    configuration: parseObjectName(configuration),
    validating: validating && parseObjectName(validating),
    caMs,
    servingMs,
    rotateBeforeMs,
    checkMs,
    settleMs,
  } as const satisfies Omit<ManagedOptions, 'namespace'> & { readonly kind: 'managed' }
}

function hostName(given: FlagInput): string {
  if (isHost(given.text) && !given.text.endsWith('.')) return given.text
  throw invalidValue(given, 'is not a valid host name', 'use a name such as squall.chaos.svc')
}
