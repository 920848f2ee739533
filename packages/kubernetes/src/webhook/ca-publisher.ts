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

/** How a certificate and its CA are checked. */
interface Checks {
  /** Does what is due. Returns true once its result can be used. */
  readonly check: (signal: AbortSignal) => Promise<boolean>
  readonly failed: (message: string) => void
  /** Returns the pause after a number of failures in a row. */
  readonly pauseMs: (failures: number) => number
}

/** Keeps certificates and CAs up to date. */
export interface Publisher {
  /** Begins to check; resolves when a check has passed for the first time. */
  start(): Promise<void>
  close(): Promise<void>
}

/** Repeats a check until closed. */
export function repeatedly({ check, failed, pauseMs }: Checks): Publisher {
  const closing = new AbortController()
  const { signal } = closing
  let running: Promise<void> | undefined
  const run = async (done: () => void): Promise<void> => {
    for (let failures = 0; !signal.aborted;) {
      try {
        if (await check(signal)) done()
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures++
        failed((error as Error).message)
      }
      const pause = pauseMs(failures)
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
  return {
    start: () =>
      new Promise<void>((resolve) => {
        running = run(resolve).finally(resolve)
      }),
    close: async () => {
      closing.abort()
      await running
    },
  }
}

/** Publishes CAs; returns true when a configuration had to be changed. */
export function publish(
  { configuration, validating }: PublishOptions,
  { client, now }: CertificateParts,
  bundle: readonly string[],
  keepOthers: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  return retried(signal, (limits) => {
    const wanted = { configuration, validating, bundle, keepOthers, now: now() }
    return ensureBundle(client, wanted, limits)
  })
}

/** Retries after conflicts with other replicas. */
export function retried<Result>(
  signal: AbortSignal,
  action: (limits: { signal: AbortSignal; timeoutMs: number }) => Promise<Result>,
): Promise<Result> {
  return retryConflicts(() => action({ signal, timeoutMs: REQUEST_MS }))
}
