import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { Logger } from '#sidecar'
import type { CertificatePair } from './issue-certificate.ts'
import type { WebhookMetrics } from './webhook-metrics.ts'

export type ServingPair = ReturnType<typeof checkPair>

/** Reports an unusable certificate. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
  readonly code = 'SQUALL_CERTIFICATE'
}

/**
 * Checks that a certificate and a key match. Errors do not repeat those of OpenSSL, which may
 * describe the key.
 */
export function checkPair({ cert, key }: CertificatePair) {
  let read: X509Certificate
  try {
    read = new X509Certificate(cert)
  } catch {
    throw new CertificateError('the certificate must be PEM-encoded')
  }
  try {
    createSecureContext({ cert, key })
  } catch {
    throw new CertificateError('invalid PEM private key, or the key does not match the certificate')
  }
  return { cert, key, until: new Date(read.validTo), serial: read.serialNumber }
}

/** Holds the certificate in use; valid new ones replace it. */
export class ServingCertificate {
  readonly #logger: Logger
  readonly #metrics: WebhookMetrics
  readonly #now: () => number
  #current: ServingPair | undefined
  #complaint: string | undefined
  #onSwap: (pair: ServingPair) => void = () => undefined

  constructor(logger: Logger, metrics: WebhookMetrics, now: () => number) {
    this.#logger = logger
    this.#metrics = metrics
    this.#now = now
  }

  get current(): ServingPair | undefined {
    return this.#current
  }

  /** The reason why handshakes fail; undefined while they succeed. */
  get trouble(): string | undefined {
    if (this.#current === undefined) return this.#complaint ?? 'no certificate yet'
    return this.#current.until.getTime() <= this.#now() ? 'the certificate has expired' : undefined
  }

  /** Calls the listener with each later certificate. */
  onSwap(listener: (pair: ServingPair) => void): void {
    this.#onSwap = listener
  }

  /** Uses a pair, unless it is invalid or in use already. */
  offer(pair: CertificatePair): void {
    let checked: ServingPair
    try {
      checked = checkPair(pair)
      if (this.#current !== undefined && checked.until.getTime() <= this.#now()) {
        throw new CertificateError(`it expired on ${checked.until.toISOString()}`)
      }
    } catch (error) {
      this.reject((error as Error).message)
      return
    }
    this.#complaint = undefined
    const { current } = this
    if (current?.cert === checked.cert && current.key === checked.key) {
      this.#metrics.certificateGood()
      return
    }
    this.#current = checked
    this.#metrics.swapped(checked.until)
    const { serial, until } = checked
    const fields = { serial, expires: until.toISOString() }
    this.#logger.info(fields, current === undefined ? 'certificate in use' : 'certificate replaced')
    this.#onSwap(checked)
  }

  /** Reports a missing or invalid certificate, once per error. */
  reject(complaint: string): void {
    if (complaint === this.#complaint) return
    this.#complaint = complaint
    this.#metrics.certificateRejected()
    const then =
      this.#current === undefined
        ? 'no certificate is in use yet'
        : 'the previous certificate stays in use'
    this.#logger.error({ detail: complaint }, `a new certificate cannot be used; ${then}`)
  }
}
