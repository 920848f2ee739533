import { readSmallFile, systemReason } from '#base'
import { CaPublisher, type CertificateParts, type PublishOptions } from './ca-publisher.ts'
import { splitPem } from './managed-secret.ts'
import { CertificateError } from './serving-certificate.ts'

/** The file is read this often: a renewed certificate waits until its CA is published. */
const READ_MS = 2_000

/**
 * Publishes the CA of a mounted certificate in the webhook configurations, and keeps the CAs that
 * other replicas may still use. A tool that replaces the bundle would cut these replicas off.
 */
export class PublishedCa extends CaPublisher<PublishOptions> {
  readonly #file: string
  #trusted: string | undefined
  #publishedAt = 0

  constructor(file: string, options: PublishOptions, parts: CertificateParts) {
    super(options, parts)
    this.#file = file
  }

  /** Returns true when the CA in the file is published. */
  isPublished(): boolean {
    try {
      return this.#trusted === this.#read()
    } catch {
      return false
    }
  }

  protected override async check(): Promise<boolean> {
    const { now } = this.parts
    const isFirst = this.#trusted === undefined
    if (this.isPublished() && now() - this.#publishedAt < this.options.checkMs) return true
    const ca = this.#read()
    const isChanged = await this.publish(splitPem(ca), true)
    this.#trusted = ca
    this.#publishedAt = now()
    if (isFirst && isChanged) await this.settle()
    return true
  }

  protected override failed(message: string): void {
    const { certificate, logger } = this.parts
    if (certificate.current === undefined) certificate.reject(message)
    else logger.error({ detail: message }, 'the CA cannot be published')
  }

  protected override pauseMs(): number {
    return Math.min(READ_MS, this.options.checkMs)
  }

  #read(): string {
    let text: string
    try {
      text = readSmallFile(this.#file).toString('utf8')
    } catch (error) {
      throw new CertificateError(
        `${this.#file} cannot be read (${systemReason(error)}); the issuer must provide its CA`,
        { cause: error },
      )
    }
    if (splitPem(text).length > 0) return text
    throw new CertificateError(
      `${this.#file} contains no certificate; the issuer must provide its CA`,
    )
  }
}
