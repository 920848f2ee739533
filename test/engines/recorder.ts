import type { FaultListener, FaultRef } from '../../src/listener/faults/exchange-context.ts'
import type { Logger } from '../../src/telemetry/log.ts'
import type { GaugeName, Telemetry } from '../../src/telemetry/telemetry.ts'

/** Notes down what a sidecar counts, as far as the same must be counted whatever the engine. */
export class Recorder {
  readonly telemetry: Telemetry
  readonly faults: FaultListener
  readonly logger: Logger
  readonly #told: string[] = []
  readonly #open = new Map<GaugeName, number>()

  constructor(touch: () => void) {
    const tell = (...parts: readonly unknown[]): void => {
      this.#told.push(parts.join(' '))
      touch()
    }
    this.telemetry = {
      call: (call) =>
        tell(
          `call ${call.method} ${call.name} ${call.outcome} ${call.origin}`,
          // That a time was taken is compared, and how long it was is not.
          call.seconds !== undefined,
          call.upstreamSeconds !== undefined,
          call.responseBytes,
          call.changed === true,
          call.trace,
        ),
      http: ({ class: kind, status, origin }) => tell('http', kind, status, origin),
      unclassified: (reason) => tell('unclassified', reason),
      rejected: (reason) => tell('rejected', reason),
      overhead: () => tell('overhead'),
      gauge: (name, delta) => {
        this.#open.set(name, this.open(name) + delta)
        touch()
      },
      evicted: (table) => tell('evicted', table),
      injected: () => undefined,
      reloaded: () => undefined,
      guardTripped: () => undefined,
    }
    const place = ({ rule, fault, call }: FaultRef): string =>
      `${rule} ${fault} ${call === undefined ? '-' : `${call.method} ${String(call.id)}`}`
    this.faults = {
      injected: (record) =>
        tell('injected', place(record), record.effect, record.delayMs, record.first),
      notApplicable: (record) => tell('not applicable', place(record), record.reason),
      canaryReturned: (call) => tell('canary', call.method, String(call.id)),
      falseValueUsed: (call) => tell('false value', call.method, String(call.id)),
      failed: (record, error) => tell('broke', place(record), String(error)),
    }
    this.logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (fields, message) => tell('error', message, (fields as { err?: Error }).err?.message),
    }
  }

  /** Returns the current value of a gauge. */
  open(name: GaugeName): number {
    return this.#open.get(name) ?? 0
  }

  /** Returns the records since the last call, sorted. */
  take(): string[] {
    return this.#told.splice(0).sort()
  }

  /** Gauges that should have come back to nothing and have not. */
  left(names: readonly GaugeName[]): string[] {
    return names.filter((name) => this.open(name) !== 0).map((name) => `${name} ${this.open(name)}`)
  }
}
