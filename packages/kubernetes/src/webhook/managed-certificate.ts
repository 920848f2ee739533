import { setTimeout as sleep } from 'node:timers/promises'
import { type Fields, fieldsOf } from '#base'
import { metadataOf, SECRETS } from '../kube/resources.ts'
import {
  type CertificateParts,
  publish,
  type PublishOptions,
  repeatedly,
  retried,
} from './ca-publisher.ts'
import {
  madeAt,
  type ManagedLifetimes,
  type ManagedState,
  readManaged,
  renewed,
  writeManaged,
} from './managed-secret.ts'
import { CertificateError } from './serving-certificate.ts'

/** Configures where self-managed certificates are kept, and which webhooks trust them. */
export interface ManagedOptions extends ManagedLifetimes, PublishOptions {
  readonly secret: string
  readonly namespace: string
}

/** CAs of others stay in the bundle for this many checks, until every replica has read it. */
const CHECKS_KEPT = 10
/** The label of Secrets that Squall writes. */
const OWNER_LABEL = 'app.kubernetes.io/part-of'
/** The first pause after a failure; later pauses are longer. */
const RETRY_MS = 500

/**
 * Keeps a CA and a serving certificate in a Secret and renews them in time. Any number of replicas
 * may do so at once: a change applies only to the version that was read, and a replica that is too
 * late reads the result of the other. A certificate is served once the webhook configuration trusts
 * its CA.
 */
export function managedCertificate(options: ManagedOptions, parts: CertificateParts) {
  const { certificate, now } = parts
  const { settleMs, checkMs } = options
  const startedAt = now()
  let ca: string | undefined
  return repeatedly({
    check: async (signal) => {
      const state = await stored(options, parts, signal)
      const { cert } = state.ca
      // Older replicas may serve a certificate of another CA, or of another mode.
      const since = Math.max(madeAt(cert), startedAt)
      const keepOthers = now() - since < CHECKS_KEPT * checkMs + settleMs + 1_000
      await publish(options, parts, state.bundle, keepOthers, signal)
      // Another replica may have published the CA a moment ago.
      if (ca !== undefined && ca !== cert) await sleep(settleMs, undefined, { signal })
      ca = cert
      certificate.offer(state.serving)
      return certificate.current !== undefined
    },
    failed: (message) => certificate.reject(message),
    pauseMs: (failures) => {
      const pause =
        failures === 0 ? checkMs : Math.min(checkMs, RETRY_MS * 2 ** Math.min(failures, 6))
      // The jitter spreads the replicas.
      return pause * (0.75 + Math.random() / 2)
    },
  })
}

/** Returns the state in the Secret, renewed when it is time. */
function stored(
  options: ManagedOptions,
  { client, logger, now }: CertificateParts,
  signal: AbortSignal,
): Promise<ManagedState> {
  const { secret, namespace } = options
  const ref = { kind: SECRETS, namespace, name: secret }
  return retried(signal, async (limits) => {
    const found = await client.find(ref, limits)
    const before = found === undefined ? undefined : readManaged(found)
    const state = renewed(before, options, now())
    if (state === before) return state
    if (found !== undefined && before === undefined) rejectForeign(found, secret)
    const data = writeManaged(state)
    if (found === undefined) {
      const metadata = { name: secret, namespace, labels: { [OWNER_LABEL]: 'squall' } }
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data }
      await client.create(ref, body, limits)
    } else {
      await client.replace(ref, replaced(found, data), limits)
    }
    const what =
      before?.ca.cert === state.ca.cert ? 'serving certificate' : 'CA and serving certificate'
    logger.info({ secret, namespace, what }, 'certificates issued')
    return state
  })
}

/**
 * Returns the Secret with new data and the version that was read, so nothing newer is overwritten.
 */
function replaced(found: Fields, data: Fields): Fields {
  const labels = { ...metadataOf(found).labels, [OWNER_LABEL]: 'squall' }
  const metadata = { ...fieldsOf(found['metadata']), labels }
  return { ...found, apiVersion: 'v1', kind: 'Secret', metadata, data }
}

/** Throws for a Secret that Squall did not write, which must not be overwritten. */
function rejectForeign(found: Fields, secret: string): void {
  const isEmpty = Object.keys(fieldsOf(found['data'])).length === 0
  if (isEmpty || metadataOf(found).labels[OWNER_LABEL] === 'squall') return
  throw new CertificateError(
    `Secret "${secret}" contains data of another program; use another Secret with --tls-secret, or delete it`,
  )
}
