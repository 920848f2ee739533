import { durationText, latency, percentage, readFactor } from '#base'
import type { LoadResult } from '../load/results/result.ts'

/** The measures of calls: rates from 0 to 1, or latencies in milliseconds. */
export const MEASURES = ['errors', 'success', 'p50', 'p95', 'p99'] as const

export type CallMeasure = (typeof MEASURES)[number]

/** The measures of the processes of the server. */
export const PROCESS_MEASURES = ['processUptime', 'restarts'] as const

export type ProcessMeasure = (typeof PROCESS_MEASURES)[number]

/**
 * The measures that are sampled: rates, 1 for a healthy endpoint and 0 for others, and values of
 * queries.
 */
export type Extra =
  'uptime' | 'cpu' | 'memory' | ProcessMeasure | `health ${string}` | `promql ${string}`

export type Measure = CallMeasure | Extra

/** A limit that is checked continuously. */
export interface Gate {
  readonly measure: Measure
  /** `errors >5% for 30s`. */
  readonly text: string
  readonly operator: '<' | '>'
  /** Milliseconds, or a rate from 0 to 1. */
  readonly limit: number
  /** The time for which the gate must fail without a pause. */
  readonly forMs: number
  /** The multiple of the value before the stages that is the limit. */
  readonly factor?: number
}

/** The measured values; null without data. */
export type Measured = Readonly<Record<CallMeasure, number | null>> &
  Readonly<Partial<Record<Extra, number | null>>>

/** Returns the measures of a whole load; null without a load or a call. */
export function measuredOf(load: LoadResult | undefined): Measured {
  if (load === undefined) return { errors: null, success: null, p50: null, p95: null, p99: null }
  const { calls, responded } = load.counts
  const { p50, p95, p99 } = load.latency.summary
  const errors = calls === 0 ? null : (calls - responded) / calls
  return { errors, success: load.indicators.tcsr, p50, p95, p99 }
}

/**
 * Returns the gate that fails beyond a limit, which is in milliseconds or in percent, for a time. A
 * multiple such as `2x` has no limit before `withBaseline`.
 */
export function gateOf(measure: Measure, written: number | string, forMs = 0): Gate {
  const operator = MINIMA.has(measure) ? '<' : '>'
  if (typeof written === 'string') {
    const text = `${measure} ${operator}${written}${lastingText(forMs)}`
    return { measure, text, operator, limit: Infinity, forMs, factor: readFactor(written)! }
  }
  const limit = isShare(measure) ? written / 100 : written
  const shown = isShare(measure) ? `${written}%` : plainMeasure(measure, written)
  const text = `${measure} ${operator}${shown}${lastingText(forMs)}`
  return { measure, text, operator, limit, forMs }
}

type WrittenLimit = number | string | { readonly limit: number | string; readonly for: number }

/** Returns the gates of the measures that a section of a plan limits. */
export function gatesOf<Name extends Measure>(
  measures: readonly Name[],
  section: { readonly [Limited in Name]?: WrittenLimit },
): readonly (Gate & { readonly measure: Name })[] {
  return measures.flatMap((measure) => {
    const written = section[measure]
    if (written === undefined) return []
    const { limit, for: forMs } = typeof written === 'object' ? written : { limit: written, for: 0 }
    return [{ ...gateOf(measure, limit, forMs), measure }]
  })
}

/** Describes the time for which a gate must fail; empty for none. */
export function lastingText(forMs: number): string {
  return forMs === 0 ? '' : ` for ${durationText(forMs)}`
}

/** Returns the gates with limits in place of multiples of a measurement. */
export function withBaseline(gates: readonly Gate[], baseline: Measured): readonly Gate[] {
  return gates.map((gate) => {
    const { measure, factor, text } = gate
    const value = baseline[measure] ?? null
    if (factor === undefined || value === null) return gate
    const limit = Math.round(value * factor * 1000) / 1000
    return { ...gate, limit, text: `${text} (of ${shownMeasure(measure, value)})` }
  })
}

/** Returns true when a measured value fails the gate; undefined without data. */
export function fails({ measure, operator, limit }: Gate, measured: Measured): boolean | undefined {
  const value = measured[measure] ?? null
  if (value === null) return undefined
  return operator === '<' ? value < limit : value > limit
}

/** Formats a measured value. */
export function shownMeasure(measure: Measure, value: number | null): string {
  if (value === null) return 'unknown'
  if (measure.startsWith('health ')) return `met by ${percentage(value)} of the responses`
  if (measure.startsWith('promql ')) return String(Number(value.toPrecision(4)))
  if (measure === 'processUptime' || measure === 'restarts') return plainMeasure(measure, value)
  return isShare(measure) ? percentage(value) : latency(value)
}

function plainMeasure(measure: Measure, value: number): string {
  return measure === 'restarts' ? String(value) : durationText(Math.round(value))
}

const SHARES: ReadonlySet<Measure> = new Set(['errors', 'success', 'uptime', 'cpu', 'memory'])

const MINIMA: ReadonlySet<Measure> = new Set(['success', 'uptime', 'processUptime'])

export function isShare(measure: Measure): boolean {
  return SHARES.has(measure)
}

/** A gate that failed for its full duration. */
export interface FailedGate {
  readonly gate: string
  readonly measure: Gate['measure']
  /** Null when no measured value made the gate fail. */
  readonly measured: number | null
}

/** Tracks how long each gate has been failing. */
export class AbortWatch {
  readonly #gates: readonly Gate[]
  readonly #since = new Map<Gate, number>()

  constructor(gates: readonly Gate[]) {
    this.#gates = gates
  }

  /** Adds a measurement; returns the first gate that has failed for its full duration. */
  add(measured: Measured, at: number): FailedGate | undefined {
    let first: FailedGate | undefined
    for (const gate of this.#gates) {
      const failed = fails(gate, measured)
      // Without a measurement the state stays: missing data is not a recovery.
      if (failed === false) this.#since.delete(gate)
      if (failed !== true) continue
      const since = this.#since.get(gate) ?? at
      this.#since.set(gate, since)
      if (at - since < gate.forMs) continue
      const value = measured[gate.measure] ?? null
      first ??= { gate: gate.text, measure: gate.measure, measured: value }
    }
    return first
  }
}

/** Returns true when any gate fails; undefined when one could not be measured. */
export function anyFails(gates: readonly Gate[], measured: Measured): boolean | undefined {
  const found = gates.map((gate) => fails(gate, measured))
  if (found.includes(true)) return true
  return found.length === 0 || found.includes(undefined) ? undefined : false
}

/** Describes the gates that fail. A gate that cannot be measured fails. */
export function failureTexts(gates: readonly Gate[], measured: Measured): readonly string[] {
  return gates
    .filter((gate) => fails(gate, measured) !== false)
    .map(({ measure, limit, operator }) => {
      const found = shownMeasure(measure, measured[measure] ?? null)
      if (measure.startsWith('health ')) return `${measure} is ${found}`
      const wants = operator === '>' ? 'at most' : 'at least'
      const most = limit === Infinity ? 'measured' : `${wants} ${shownMeasure(measure, limit)}`
      return `${measure} is ${found}, but must be ${most}`
    })
}

interface GateSample {
  readonly at: number
  readonly failed: boolean
}

/** Records when gates failed, from the first injection on. */
export class Steadiness {
  readonly #samples: GateSample[] = []
  readonly #injections: number[] = []

  /** Records the time of an injection. */
  injected(at: number): void {
    this.#injections.push(at)
  }

  add(at: number, failed: boolean | undefined): void {
    if (failed !== undefined && this.#injections.length > 0) this.#samples.push({ at, failed })
  }

  /** Returns the time for which no gate has failed, up to the last measurement. */
  steadyForMs(since: number): number {
    const first = this.#steadyFrom(since)
    return first === undefined ? 0 : this.#samples.at(-1)!.at - first.at
  }

  /**
   * Returns when a gate first failed, when its stage began, and when the target recovered: when no
   * gate has failed since, for at least `steadyForMs`. All are undefined if no gate failed.
   */
  recovery(steadyForMs: number) {
    const detectedAt = this.#samples.find(({ failed }) => failed)?.at
    if (detectedAt === undefined) return {}
    const isSteady = this.steadyForMs(detectedAt) >= steadyForMs
    const recoveredAt = isSteady ? this.#steadyFrom(detectedAt)?.at : undefined
    return { injectedAt: this.#injectedBefore(detectedAt), detectedAt, recoveredAt }
  }

  /** Returns the time since the start of the stage in which a moment was, or that it followed. */
  sinceInjection(at: number): number | undefined {
    const injectedAt = this.#injectedBefore(at)
    return injectedAt === undefined ? undefined : at - injectedAt
  }

  /** Returns the first sample since a time that no failed one follows. */
  #steadyFrom(since: number): GateSample | undefined {
    const last = this.#samples.findLastIndex(({ failed }) => failed)
    return this.#samples.slice(last + 1).find(({ at }) => at >= since)
  }

  #injectedBefore(moment: number): number | undefined {
    return this.#injections.findLast((at) => at <= moment)
  }
}
