import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient } from '../kube/kube-client.ts'
import { retryConflicts } from '../kube/kube-error.ts'
import type { Logger } from '#sidecar'
import { ensureBundle } from './ca-bundle.ts'
import type { ServingCertificate } from './serving-certificate.ts'

/** The webhook configurations that trust a CA. */
export interface PublishOptions {
  /** Name of the MutatingWebhookConfiguration. */
  readonly configuration: string
  /** Name of the ValidatingWebhookConfiguration, where there is one. */
  readonly validating?: string | undefined
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

/** Keeps a CA in the webhook configurations until closed. */
export abstract class CaPublisher<Options extends PublishOptions> {
  protected readonly options: Options
  protected readonly parts: CertificateParts
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined

  constructor(options: Options, parts: CertificateParts) {
    this.options = options
    this.parts = parts
  }

  /** Checks until closed. Resolves when a check has passed for the first time. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#running = this.#run(resolve).finally(resolve)
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(done: () => void): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted;) {
      try {
        if (await this.check()) done()
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures++
        this.failed((error as Error).message)
      }
      const pause = this.pauseMs(failures)
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** Does what is due. Returns true when the certificate can be used. */
  protected abstract check(): Promise<boolean>

  protected abstract failed(message: string): void

  /** Returns the pause after a number of failures in a row. */
  protected abstract pauseMs(failures: number): number

  /** Publishes CAs; returns true when a configuration had to be changed. */
  protected publish(bundle: readonly string[], keepOthers: boolean): Promise<boolean> {
    const { client, now } = this.parts
    const { configuration, validating } = this.options
    return this.retried((limits) => {
      const wanted = { configuration, validating, bundle, keepOthers, now: now() }
      return ensureBundle(client, wanted, limits)
    })
  }

  /** Waits until API servers had time to trust a new CA. */
  protected settle(): Promise<void> {
    return sleep(this.options.settleMs, undefined, { signal: this.#closing.signal })
  }

  /** Retries after conflicts with other replicas. */
  protected retried<Result>(
    action: (limits: { signal: AbortSignal; timeoutMs: number }) => Promise<Result>,
  ): Promise<Result> {
    const { signal } = this.#closing
    return retryConflicts(() => action({ signal, timeoutMs: REQUEST_MS }))
  }
}
