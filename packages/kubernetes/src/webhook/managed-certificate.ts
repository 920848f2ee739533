import { type Fields, fieldsOf } from '#base'
import { metadataOf, SECRETS } from '../kube/resources.ts'
import { CaPublisher, type CertificateParts, type PublishOptions } from './ca-publisher.ts'
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
export class ManagedCertificate extends CaPublisher<ManagedOptions> {
  readonly #startedAt: number
  #ca: string | undefined

  constructor(options: ManagedOptions, parts: CertificateParts) {
    super(options, parts)
    this.#startedAt = parts.now()
  }

  protected override async check(): Promise<boolean> {
    const { certificate, now } = this.parts
    const { settleMs, checkMs } = this.options
    const state = await this.#stored()
    const { cert } = state.ca
    // Older replicas may serve a certificate of another CA, or of another mode.
    const since = Math.max(madeAt(cert), this.#startedAt)
    const keepOthers = now() - since < CHECKS_KEPT * checkMs + settleMs + 1_000
    await this.publish(state.bundle, keepOthers)
    // Another replica may have published the CA a moment ago.
    if (this.#ca !== undefined && this.#ca !== cert) await this.settle()
    this.#ca = cert
    certificate.offer(state.serving)
    return certificate.current !== undefined
  }

  protected override failed(message: string): void {
    this.parts.certificate.reject(message)
  }

  protected override pauseMs(failures: number): number {
    const { checkMs } = this.options
    const pause =
      failures === 0 ? checkMs : Math.min(checkMs, RETRY_MS * 2 ** Math.min(failures, 6))
    // The jitter spreads the replicas.
    return pause * (0.75 + Math.random() / 2)
  }

  /** Returns the state in the Secret, renewed when it is time. */
  #stored(): Promise<ManagedState> {
    const { client, logger, now } = this.parts
    const { secret, namespace } = this.options
    const ref = { kind: SECRETS, namespace, name: secret }
    return this.retried(async (limits) => {
      const found = await client.find(ref, limits)
      const before = found === undefined ? undefined : readManaged(found)
      const state = renewed(before, this.options, now())
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
