import { setTimeout as sleep } from 'node:timers/promises'
import { type Fields, fieldsOf } from '../../base/values.ts'
import { isKubeError } from '../kube/kube-error.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { metadataOf, SECRETS } from '../kube/resources.ts'
import type { Logger } from '../../telemetry/log.ts'
import { ensureBundle } from './ca-bundle.ts'
import {
  madeAt,
  type ManagedLifetimes,
  type ManagedState,
  readManaged,
  renewed,
  writeManaged,
} from './managed-secret.ts'
import { CertificateError, type ServingCertificate } from './serving-certificate.ts'

/** Configures where self-managed certificates are kept, and which webhooks trust them. */
export interface ManagedOptions extends ManagedLifetimes {
  readonly secret: string
  readonly namespace: string
  /** Name of the MutatingWebhookConfiguration. */
  readonly configuration: string
  /** Name of the ValidatingWebhookConfiguration, where there is one. */
  readonly validating?: string | undefined
  /** The interval of checks. */
  readonly checkMs: number
  /** The time that API servers may take to trust a new CA before a certificate of it is served. */
  readonly settleMs: number
}

/** The parts that managing certificates needs. */
export interface ManagedParts {
  readonly client: KubeClient
  readonly certificate: ServingCertificate
  readonly logger: Logger
  readonly now: () => number
}

const ATTEMPTS = 8
/** For so many checks what others put into the bundle stays; by then every replica has looked. */
const CHECKS_KEPT = 10
const REQUEST_MS = 5_000
/** Says whose a Secret is. */
const MARK = 'app.kubernetes.io/part-of'
/** After a failure: soon, then less and less often. */
const RETRY_MS = 500

/**
 * Keeps an authority and a leaf in a Secret and renews them in time. Any number of replicas may do
 * so at once: a change is made from the version that was read or not at all, and whoever comes too
 * late takes what the other has made. The leaf is switched once the webhook configuration trusts
 * its authority, and not before.
 */
export class ManagedCertificate {
  readonly #options: ManagedOptions
  readonly #parts: ManagedParts
  readonly #closing = new AbortController()
  readonly #startedAt: number
  #authority: string | undefined
  #running: Promise<void> | undefined

  constructor(options: ManagedOptions, parts: ManagedParts) {
    this.#options = options
    this.#parts = parts
    this.#startedAt = parts.now()
  }

  /** Begins, and goes on until it is closed. Resolves when there is a certificate. */
  async start(): Promise<void> {
    const { certificate } = this.#parts
    await new Promise<void>((resolve) => {
      this.#running = this.#run(() => {
        if (certificate.current !== undefined) resolve()
      }).finally(resolve)
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(done: () => void): Promise<void> {
    const { certificate } = this.#parts
    const { checkMs } = this.#options
    for (let failures = 0; !this.#closing.signal.aborted;) {
      try {
        await this.#once()
        failures = 0
        done()
      } catch (error) {
        if (this.#closing.signal.aborted) return
        failures++
        certificate.refuse((error as Error).message)
      }
      // Replicas do not come all at the same time.
      const pause =
        failures === 0 ? checkMs : Math.min(checkMs, RETRY_MS * 2 ** Math.min(failures, 6))
      const jitter = 0.75 + Math.random() / 2
      await sleep(pause * jitter, undefined, this.#waiting).catch(() => undefined)
    }
  }

  get #waiting(): { signal: AbortSignal; ref: boolean } {
    return { signal: this.#closing.signal, ref: false }
  }

  async #once(): Promise<void> {
    const { certificate, now } = this.#parts
    const { settleMs, checkMs } = this.#options
    const state = await this.#stored()
    const { cert } = state.authority
    // Replicas of before may serve with a certificate of another authority, or of another mode.
    const since = Math.max(madeAt(cert), this.#startedAt)
    const keepOthers = now() - since < CHECKS_KEPT * checkMs + settleMs + 1_000
    await this.#retried((limits) =>
      ensureBundle(
        this.#parts.client,
        {
          configuration: this.#options.configuration,
          validating: this.#options.validating,
          bundle: state.bundle,
          keepOthers,
          now: now(),
        },
        limits,
      ),
    )
    // Another replica may have published it a moment ago.
    if (this.#authority !== undefined && this.#authority !== cert) {
      await sleep(settleMs, undefined, this.#waiting)
    }
    this.#authority = cert
    certificate.offer(state.leaf)
  }

  /** Returns the state in the Secret, renewed when it is time. */
  #stored(): Promise<ManagedState> {
    const { client, logger, now } = this.#parts
    const { secret, namespace } = this.#options
    const place = { kind: SECRETS, namespace, name: secret }
    return this.#retried(async (limits) => {
      const found = await client.find(place, limits)
      const before = found === undefined ? undefined : readManaged(found)
      const state = renewed(before, this.#options, now())
      if (state === before) return state
      if (found !== undefined && before === undefined) refuseForeign(found, secret)
      const data = writeManaged(state)
      if (found === undefined) {
        const metadata = { name: secret, namespace, labels: { [MARK]: 'squall' } }
        const body = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, data }
        await client.create(place, body, limits)
      } else {
        await client.replace(place, replaced(found, data), limits)
      }
      const what = before?.authority.cert === state.authority.cert ? 'leaf' : 'authority and leaf'
      logger.info({ secret, namespace, what }, 'new certificates were made')
      return state
    })
  }

  /** Tries again where somebody else was faster. */
  async #retried<Result>(
    action: (limits: { signal: AbortSignal; timeoutMs: number }) => Promise<Result>,
  ): Promise<Result> {
    const { signal } = this.#closing
    for (let attempt = 1; ; attempt++) {
      try {
        return await action({ signal, timeoutMs: REQUEST_MS })
      } catch (error) {
        if (attempt === ATTEMPTS || !isKubeError(error, 'conflict', 'exists')) throw error
      }
    }
  }
}

/** With the version that was read in it, so that nothing newer is overwritten. */
function replaced(found: Fields, data: Fields): Fields {
  const labels = { ...metadataOf(found).labels, [MARK]: 'squall' }
  const metadata = { ...fieldsOf(found['metadata']), labels }
  return { ...found, apiVersion: 'v1', kind: 'Secret', metadata, data }
}

/** A Secret that holds something else was named in error, and is not to be overwritten. */
function refuseForeign(found: Fields, secret: string): void {
  const isEmpty = Object.keys(fieldsOf(found['data'])).length === 0
  if (isEmpty || metadataOf(found).labels[MARK] === 'squall') return
  throw new CertificateError(
    `Secret "${secret}" holds something that squall did not make; name another with --tls-secret, or delete it`,
  )
}
