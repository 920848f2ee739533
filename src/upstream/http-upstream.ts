import type { Upstream } from '../http/transfer.ts'
import type { UpstreamAddress } from './address.ts'
import { UndiciConnection } from './undici-connection.ts'
import { ConnectionPool, type ConnectionOptions } from './connection-pool.ts'
import { FastConnection } from './fast/fast-connection.ts'
import { FastUpstream } from './fast/fast-upstream.ts'
import { undiciClient } from './undici-module.ts'
import { UndiciUpstream } from './undici-upstream.ts'

/** Configures how the connections to one upstream are opened and limited. */
export interface UpstreamConnectionsOptions extends ConnectionOptions {
  readonly address: UpstreamAddress
  /** False sends every exchange through undici. */
  readonly fast: boolean
  /** False ends each connection after one exchange. */
  readonly reuse: boolean
  readonly maxConnections: number
  /**
   * Returns the number of connections opened elsewhere (tunnels), which count towards the bound.
   */
  readonly others: () => number
  readonly onConnections: (delta: number) => void
  /** In milliseconds. */
  readonly now: () => number
}

/** Holds all connections to one upstream. */
export class UpstreamConnections {
  readonly upstream: Upstream
  readonly #options: UpstreamConnectionsOptions
  readonly #standard: ConnectionPool<UndiciConnection>
  readonly #fast: ConnectionPool<FastConnection>

  constructor(options: UpstreamConnectionsOptions) {
    this.#options = options
    const { onConnections, now, address, reuse } = options
    const common = { onConnections, now, reuse, mayOpen: () => this.hasCapacity }
    this.#standard = new ConnectionPool<UndiciConnection>({
      ...common,
      open: (events) => new UndiciConnection(options, events),
    })
    this.#fast = new ConnectionPool<FastConnection>({
      ...common,
      open: (events) => new FastConnection(options, events),
    })
    const standard = new UndiciUpstream(this.#standard, options)
    const isFast = options.fast && !(address.kind === 'tcp' && address.tls)
    // Loaded now because the first call needs undici, and must not wait until it is loaded.
    if (!isFast) undiciClient()
    this.upstream = isFast ? new FastUpstream(this.#fast, standard) : standard
  }

  /** Returns true when a connection may be opened; closes an idle connection to make room. */
  get hasCapacity(): boolean {
    // Tunnels count towards the bound, too.
    const open = this.#standard.size + this.#fast.size + this.#options.others()
    if (open < this.#options.maxConnections) return true
    return this.#fast.closeIdle() || this.#standard.closeIdle()
  }

  get connected(): number {
    return this.#standard.connected + this.#fast.connected
  }

  /** Ends connections whose idle time has ended. Called once a second. */
  sweep(now: number): void {
    this.#fast.sweep(now)
  }

  close(): void {
    this.#standard.close()
    this.#fast.close()
  }
}
