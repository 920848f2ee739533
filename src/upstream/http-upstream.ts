import type { Upstream } from '../http/transfer.ts'
import type { UpstreamAddress } from './address.ts'
import { UndiciConnection, type ConnectionOptions } from './undici-connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { FastConnection } from './fast/fast-connection.ts'
import { FastUpstream } from './fast/fast-upstream.ts'
import { undiciClient } from './undici-module.ts'
import { UndiciUpstream } from './undici-upstream.ts'

/** How the connections to one app are made and bounded. */
export interface AppOptions extends ConnectionOptions {
  readonly address: UpstreamAddress
  /** False takes every exchange through undici. */
  readonly fast: boolean
  /** False ends each connection after one exchange. */
  readonly reuse: boolean
  readonly maxConnections: number
  /** Connections to the app that are opened elsewhere, and count towards the bound. */
  readonly others: () => number
  readonly onConnections: (delta: number) => void
  /** In milliseconds. */
  readonly now: () => number
}

/** One app, with all connections to it. */
export class App {
  readonly upstream: Upstream
  readonly #options: AppOptions
  readonly #standard: ConnectionPool<UndiciConnection>
  readonly #fast: ConnectionPool<FastConnection>

  constructor(options: AppOptions) {
    this.#options = options
    const { maxConnections, onConnections, now, address, reuse } = options
    const mayOpen =
      (other: () => ConnectionPool<UndiciConnection> | ConnectionPool<FastConnection>) => () =>
        this.#connections < maxConnections || other().giveUpIdle()
    const common = { onConnections, now, reuse }
    this.#standard = new ConnectionPool<UndiciConnection>({
      ...common,
      open: (events) => new UndiciConnection(options, events),
      mayOpen: mayOpen(() => this.#fast),
    })
    this.#fast = new ConnectionPool<FastConnection>({
      ...common,
      open: (events) => new FastConnection(options, events),
      mayOpen: mayOpen(() => this.#standard),
    })
    const standard = new UndiciUpstream(this.#standard, options)
    const isFast = options.fast && !(address.kind === 'tcp' && address.tls)
    // Here the first call needs it for sure, and must not wait for it.
    if (!isFast) undiciClient()
    this.upstream = isFast ? new FastUpstream(this.#fast, standard) : standard
  }

  /** Whether one more connection may be opened elsewhere; one that nobody uses makes room for it. */
  get hasRoom(): boolean {
    const { maxConnections } = this.#options
    if (this.#connections < maxConnections) return true
    return this.#fast.giveUpIdle() || this.#standard.giveUpIdle()
  }

  /** Connections that are open right now. */
  get connected(): number {
    return this.#standard.connected + this.#fast.connected
  }

  /** Connections that count towards the bound. */
  get #connections(): number {
    return this.#standard.size + this.#fast.size + this.#options.others()
  }

  /** Ends idle connections that were kept for long enough. Called once a second. */
  sweep(now: number): void {
    this.#fast.sweep(now)
  }

  /** Ends every connection. */
  close(): void {
    this.#standard.close()
    this.#fast.close()
  }
}
