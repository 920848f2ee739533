import type { Upstream } from '../mcp/transfer.ts'
import type { UpstreamAddress } from './address.ts'
import { Lane, type LaneOptions } from './lane.ts'
import { LanePool } from './lane-pool.ts'
import { SpliceLane } from './splice/splice-lane.ts'
import { SpliceUpstream } from './splice/splice-upstream.ts'
import { undiciClient } from './undici-module.ts'
import { UndiciUpstream } from './undici-upstream.ts'

/** How the connections to one app are made and bounded. */
export interface AppOptions extends LaneOptions {
  readonly address: UpstreamAddress
  /** False takes every exchange through undici. */
  readonly splice: boolean
  /** False ends each connection after one exchange. */
  readonly reuse: boolean
  readonly maxConnections: number
  readonly onConnections: (delta: number) => void
  /** In milliseconds. */
  readonly now: () => number
}

/** One app, with all connections to it. */
export class App {
  readonly upstream: Upstream
  readonly #general: LanePool<Lane>
  readonly #spliced: LanePool<SpliceLane>

  constructor(options: AppOptions) {
    const { maxConnections, onConnections, now, address, reuse } = options
    const mayOpen = (other: () => LanePool<Lane> | LanePool<SpliceLane>) => () =>
      this.#general.size + this.#spliced.size < maxConnections || other().giveUpIdle()
    const common = { onConnections, now, reuse }
    this.#general = new LanePool<Lane>({
      ...common,
      open: (events) => new Lane(options, events),
      mayOpen: mayOpen(() => this.#spliced),
    })
    this.#spliced = new LanePool<SpliceLane>({
      ...common,
      open: (events) => new SpliceLane(options, events),
      mayOpen: mayOpen(() => this.#general),
    })
    const general = new UndiciUpstream(this.#general, options)
    const spliced = options.splice && !(address.kind === 'tcp' && address.tls)
    // Here the first call needs it for sure, and must not wait for it.
    if (!spliced) undiciClient()
    this.upstream = spliced ? new SpliceUpstream(this.#spliced, general) : general
  }

  /** Connections that are open right now. */
  get connected(): number {
    return this.#general.connected + this.#spliced.connected
  }

  /** Ends idle connections that were kept for long enough. Called once a second. */
  sweep(now: number): void {
    this.#spliced.sweep(now)
  }

  /** Ends every connection. */
  close(): void {
    this.#general.close()
    this.#spliced.close()
  }
}
