import type { Guard } from '../../rules/guard/guard.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'

/** Telemetry that also tells the guard how calls end. */
export function guardedTelemetry(inner: Telemetry, guard: Guard): Telemetry {
  return {
    call: (record) => {
      inner.call(record)
      guard.record(record.outcome, record.origin, performance.now())
    },
    http: (record) => inner.http(record),
    unclassified: (reason) => inner.unclassified(reason),
    refused: (reason) => inner.refused(reason),
    overhead: (seconds) => inner.overhead(seconds),
    gauge: (name, delta) => inner.gauge(name, delta),
    evicted: (table) => inner.evicted(table),
    injected: (record) => inner.injected(record),
    reloaded: (result) => inner.reloaded(result),
    guardTripped: (reason) => inner.guardTripped(reason),
  }
}
