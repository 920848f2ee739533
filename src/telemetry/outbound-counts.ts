import type { MetricsDetail } from './metric-table.ts'
import { Count, Counts, Histogram } from './series.ts'

/** The end of a connection to a dependency. */
export type ConnectionOutcome =
  | 'ok'
  | 'refused'
  | 'timeout'
  | 'unreachable'
  | 'dns'
  | 'reset'
  | 'cut'
  | 'blackhole'
  | 'overload'
  | 'error'

/** A fault caused the outcome, or not. */
export type ConnectionOrigin = 'real' | 'injected'

type EndedLabels = {
  readonly destination: string
  readonly outcome: ConnectionOutcome
  readonly origin: ConnectionOrigin
}

/** Counts the connections to one destination. */
export class DestinationCounts {
  readonly destination: string
  open = 0
  sent = 0
  received = 0
  readonly ended = new Counts<EndedLabels>('squall_outbound_connections_total')
  readonly connect: Histogram

  constructor(destination: string, detail?: MetricsDetail) {
    this.destination = destination
    this.connect = new Histogram('squall_outbound_connect_seconds', { destination }, detail)
  }

  /** Counts a connection that has ended. */
  end(outcome: ConnectionOutcome, origin: ConnectionOrigin): void {
    this.ended.add({ destination: this.destination, outcome, origin })
  }
}

/** Counts outgoing connections by destination. */
export class OutboundCounts {
  readonly #destinations = new Map<string, DestinationCounts>()
  readonly #detail: MetricsDetail | undefined

  constructor(detail?: MetricsDetail) {
    this.#detail = detail
  }

  /** Returns the counts of a destination, whose names the configuration bounds. */
  of(destination: string): DestinationCounts {
    let counts = this.#destinations.get(destination)
    if (counts === undefined) {
      counts = new DestinationCounts(destination, this.#detail)
      this.#destinations.set(destination, counts)
    }
    return counts
  }

  list(): readonly DestinationCounts[] {
    return [...this.#destinations.values()]
  }

  /** Maps each metric of outgoing connections to its series. */
  sources() {
    const all = this.list()
    const bytes = 'squall_outbound_bytes_total'
    return {
      squall_outbound_connections_total: all.flatMap(({ ended }) => [...ended]),
      squall_outbound_open_connections: Object.fromEntries(
        all.map(({ destination, open }) => [destination, open]),
      ),
      [bytes]: all.flatMap(({ destination, sent, received }) => [
        new Count(bytes, { destination, direction: 'sent' }, sent),
        new Count(bytes, { destination, direction: 'received' }, received),
      ]),
      squall_outbound_connect_seconds: all.map(({ connect }) => connect),
    } as const
  }
}
