import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf } from '#base'
import type { KubeClient } from '../kube/kube-client.ts'
import type { Logger } from '#sidecar'
import type { WebhookMetrics } from './webhook-metrics.ts'

/** Configures how the cluster's version is determined. */
interface ClusterVersionOptions {
  /** Undefined without access to the API server. */
  readonly client: KubeClient | undefined
  /** Kubernetes 1.`fallback` is assumed until the API server responds. */
  readonly fallback: number | undefined
  readonly logger: Logger
  readonly metrics: Pick<WebhookMetrics, 'clusterVersion'>
  /** The interval of requests: clusters are upgraded while a webhook runs. */
  readonly refreshMs?: number
}

const REFRESH_MS = 5 * 60_000
const RETRY_MS = 30_000
const TIMEOUT_MS = 2_000
const MAX_BYTES = 64 * 1024

/** Holds the version of the cluster, which the API server reports at `/version`. */
export class ClusterVersion {
  readonly #options: ClusterVersionOptions
  readonly #closing = new AbortController()
  #minor: number | undefined
  #source: 'api_server' | 'flag' | 'unknown'
  #complaint: string | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: ClusterVersionOptions) {
    this.#options = options
    this.#minor = options.fallback
    this.#source = options.fallback === undefined ? 'unknown' : 'flag'
    options.metrics.clusterVersion(this.#minor, this.#source)
  }

  /** Kubernetes 1.`minor`; undefined while unknown. */
  get minor(): number | undefined {
    return this.#minor
  }

  /** Reads the version, within two seconds, and then at intervals until closed. */
  async start(): Promise<void> {
    const { client } = this.#options
    if (client === undefined) return this.#report('the API server is not accessible')
    await this.#ask(client)
    this.#running = this.#follow(client)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #follow(client: KubeClient): Promise<void> {
    const { refreshMs = REFRESH_MS } = this.#options
    const { signal } = this.#closing
    while (!signal.aborted) {
      const pause = this.#complaint === undefined ? refreshMs : Math.min(refreshMs, RETRY_MS)
      await sleep(pause * (0.75 + Math.random() / 2), undefined, { signal, ref: false }).catch(
        () => undefined,
      )
      if (!signal.aborted) await this.#ask(client)
    }
  }

  /** Keeps the last known version where the API server does not respond. */
  async #ask(client: KubeClient): Promise<void> {
    try {
      const minor = minorOf(
        await client.request({
          method: 'GET',
          path: '/version',
          what: 'read the version of the cluster',
          timeoutMs: TIMEOUT_MS,
          maxBytes: MAX_BYTES,
          signal: this.#closing.signal,
        }),
      )
      if (minor === undefined) return this.#report('the API server does not report a version 1.x')
      const isNews = minor !== this.#minor || this.#source !== 'api_server'
      this.#minor = minor
      this.#source = 'api_server'
      this.#complaint = undefined
      if (isNews) this.#report()
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#report((error as Error).message)
    }
  }

  /** Logs a changed version, or the reason why it is unknown, once. */
  #report(complaint?: string): void {
    const { logger, metrics } = this.#options
    if (complaint !== undefined && complaint === this.#complaint) return
    this.#complaint = complaint
    metrics.clusterVersion(this.#minor, this.#source)
    const version = this.#minor === undefined ? 'unknown' : `1.${this.#minor}`
    const fields = { version, source: this.#source, ...(complaint && { detail: complaint }) }
    logger.info(fields, 'version of Kubernetes')
  }
}

function minorOf(response: unknown): number | undefined {
  const { major, minor } = fieldsOf(response)
  // Managed clusters write 34+.
  const digits = typeof minor === 'string' ? /^\d{1,3}/.exec(minor)?.[0] : undefined
  return major === '1' && digits !== undefined ? Number(digits) : undefined
}
