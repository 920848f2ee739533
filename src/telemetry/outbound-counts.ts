import { BucketCounts, HistogramText } from './bucket-counts.ts'
import { labelsText, type Sample, type TextFormat } from './text-format.ts'
import { bucketsOf } from './metric-table.ts'
import type { TextWriter } from './text-writer.ts'

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

const CONNECT = 'squall_outbound_connect_seconds'
const BOUNDS = bucketsOf(CONNECT)

/** Counts the connections to one destination. */
export class DestinationCounts {
  readonly destination: string
  open = 0
  sent = 0
  received = 0
  readonly ended = new Map<string, { outcome: string; origin: string; count: number }>()
  readonly connect = new BucketCounts(BOUNDS)
  readonly connectText: HistogramText

  constructor(destination: string) {
    this.destination = destination
    this.connectText = new HistogramText(CONNECT, labelsText({ destination }), BOUNDS)
  }

  /** Counts a connection that has ended. */
  end(outcome: ConnectionOutcome, origin: ConnectionOrigin): void {
    const key = `${outcome} ${origin}`
    const cell = this.ended.get(key)
    if (cell === undefined) this.ended.set(key, { outcome, origin, count: 1 })
    else cell.count++
  }
}

/** Counts outgoing connections by destination. */
export class OutboundCounts {
  readonly #destinations = new Map<string, DestinationCounts>()

  /** Returns the counts of a destination, whose names the configuration bounds. */
  of(destination: string): DestinationCounts {
    let counts = this.#destinations.get(destination)
    if (counts === undefined) {
      counts = new DestinationCounts(destination)
      this.#destinations.set(destination, counts)
    }
    return counts
  }

  list(): readonly DestinationCounts[] {
    return [...this.#destinations.values()]
  }

  /** Maps each metric of outgoing connections to the function that writes its lines. */
  sources<Write>(
    out: TextWriter,
    format: TextFormat,
    of: (samples: () => readonly Sample[]) => Write,
  ) {
    const each = (samples: (counts: DestinationCounts) => readonly Sample[]): Write =>
      of(() => this.list().flatMap((counts) => samples(counts)))
    return {
      squall_outbound_connections_total: each(({ destination, ended }) =>
        [...ended.values()].map(({ outcome, origin, count }) => ({
          labels: { destination, outcome, origin },
          value: count,
        })),
      ),
      squall_outbound_open_connections: each(({ destination, open }) => [
        { labels: { destination }, value: open },
      ]),
      squall_outbound_bytes_total: each(({ destination, sent, received }) => [
        { labels: { destination, direction: 'sent' }, value: sent },
        { labels: { destination, direction: 'received' }, value: received },
      ]),
      [CONNECT]: () =>
        this.list().map(({ connect, connectText }) => connect.write(out, connectText, format)),
    } as const
  }
}
