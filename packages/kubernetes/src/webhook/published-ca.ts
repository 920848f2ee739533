import { setTimeout as sleep } from 'node:timers/promises'
import { readSmallFile } from '#base'
import type { KubeClient } from '../kube/kube-client.ts'
import { isKubeError } from '../kube/kube-error.ts'
import type { Logger } from '#sidecar'
import { ensureBundle } from './ca-bundle.ts'
import { splitPem } from './managed-secret.ts'
import { CertificateError, type ServingCertificate } from './serving-certificate.ts'

/** The webhook configurations that trust the CA of a mounted certificate. */
export interface PublishOptions {
  /** Name of the MutatingWebhookConfiguration. */
  readonly configuration: string
  /** Name of the ValidatingWebhookConfiguration, where there is one. */
  readonly validating?: string | undefined
  /** The interval of checks. */
  readonly checkMs: number
  /** The time that API servers may take to trust a new CA. */
  readonly settleMs: number
}

/** The parts that keep certificates and their CAs up to date. */
export interface CertificateParts {
  readonly client: KubeClient
  readonly certificate: ServingCertificate
  readonly logger: Logger
  readonly now: () => number
}

const REQUEST_MS = 5_000
/** The file is read this often: a renewed certificate waits until its CA is published. */
const READ_MS = 2_000

/**
 * Publishes the CA of a mounted certificate in the webhook configurations, and keeps the CAs that
 * other replicas may still use. A tool that replaces the bundle would cut these replicas off.
 */
export class PublishedCa {
  readonly #file: string
  readonly #options: PublishOptions
  readonly #parts: CertificateParts
  readonly #closing = new AbortController()
  #trusted: string | undefined
  #publishedAt = 0
  #running: Promise<void> | undefined

  constructor(file: string, options: PublishOptions, parts: CertificateParts) {
    this.#file = file
    this.#options = options
    this.#parts = parts
  }

  /**
   * Publishes the CA and follows its file until closed. Resolves when API servers had time to trust
   * it.
   */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#running = this.#run(resolve).finally(resolve)
    })
  }

  /** Returns true when the CA in the file is published. */
  isPublished(): boolean {
    try {
      return this.#trusted === this.#read()
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(done: () => void): Promise<void> {
    const { checkMs, settleMs } = this.#options
    const { certificate, logger, now } = this.#parts
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        const isFirst = this.#trusted === undefined
        const isDue = !this.isPublished() || now() - this.#publishedAt >= checkMs
        const isChanged = isDue && (await this.#publish())
        if (isFirst && isChanged) await sleep(settleMs, undefined, { signal })
        done()
      } catch (error) {
        if (signal.aborted) return
        const { message } = error as Error
        if (certificate.current === undefined) certificate.reject(message)
        else logger.error({ detail: message }, 'the CA cannot be published')
      }
      await sleep(Math.min(READ_MS, checkMs), undefined, { signal, ref: false }).catch(
        () => undefined,
      )
    }
  }

  /** Returns true when a configuration had to be changed. */
  async #publish(): Promise<boolean> {
    const { configuration, validating } = this.#options
    const { client, now } = this.#parts
    const ca = this.#read()
    const wanted = {
      configuration,
      validating,
      bundle: splitPem(ca),
      keepOthers: true,
      now: now(),
    }
    const limits = { signal: this.#closing.signal, timeoutMs: REQUEST_MS }
    const isChanged = await ensureBundle(client, wanted, limits).catch((error: unknown) => {
      // Another replica was faster.
      if (isKubeError(error, 'conflict')) return ensureBundle(client, wanted, limits)
      throw error
    })
    this.#trusted = ca
    this.#publishedAt = now()
    return isChanged
  }

  #read(): string {
    let text: string
    try {
      text = readSmallFile(this.#file).toString('utf8')
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      throw new CertificateError(
        `${this.#file} cannot be read (${code ?? message}); the issuer has to provide its CA`,
        { cause: error },
      )
    }
    if (splitPem(text).length > 0) return text
    throw new CertificateError(
      `${this.#file} holds no certificate; the issuer has to provide its CA`,
    )
  }
}
