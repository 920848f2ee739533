import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { Logger } from '../../telemetry/log.ts'
import type { CertificatePair } from './issue-certificate.ts'
import type { WebhookMetrics } from './webhook-metrics.ts'

/** A pair that TLS can be spoken with. */
export interface ServingPair extends CertificatePair {
  readonly from: Date
  readonly until: Date
  readonly serial: string
}

/** A certificate cannot be used. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
  readonly code = 'SQUALL_CERTIFICATE'
}

/** Checks that a certificate and a key belong together. What OpenSSL says of a key is in no message. */
export function checkPair({ cert, key }: CertificatePair): ServingPair {
  let read: X509Certificate
  try {
    read = new X509Certificate(cert)
  } catch {
    throw new CertificateError('the certificate is not PEM')
  }
  try {
    createSecureContext({ cert, key })
  } catch {
    throw new CertificateError('the key is not PEM, or does not belong to the certificate')
  }
  return {
    cert,
    key,
    from: new Date(read.validFrom),
    until: new Date(read.validTo),
    serial: read.serialNumber,
  }
}

/** The certificate in use; a new one takes its place, and one that is bad never does. */
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

  /** Why nobody can shake hands right now; undefined when all is well. */
  get trouble(): string | undefined {
    if (this.#current === undefined) return this.#complaint ?? 'there is no certificate yet'
    return this.#current.until.getTime() <= this.#now() ? 'the certificate has expired' : undefined
  }

  /** Tells each pair that comes into use from here on. */
  onSwap(listener: (pair: ServingPair) => void): void {
    this.#onSwap = listener
  }

  /** Takes a pair into use, unless it is bad or in use already. */
  offer(pair: CertificatePair): void {
    let checked: ServingPair
    try {
      checked = checkPair(pair)
      if (this.#current !== undefined && checked.until.getTime() <= this.#now()) {
        throw new CertificateError(`it ended on ${checked.until.toISOString()}`)
      }
    } catch (error) {
      this.refuse((error as Error).message)
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
    this.#logger.info(fields, current === undefined ? 'certificate in use' : 'certificate swapped')
    this.#onSwap(checked)
  }

  /** Reports a missing or invalid certificate, once for each error. */
  refuse(complaint: string): void {
    if (complaint === this.#complaint) return
    this.#complaint = complaint
    this.#metrics.certificateRefused()
    const then = this.#current === undefined ? 'there is none yet' : 'the last good one stays'
    this.#logger.error({ detail: complaint }, `a new certificate cannot be used; ${then}`)
  }
}
