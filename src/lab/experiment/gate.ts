import { latency, percentage } from '../report/shown-numbers.ts'
import { durationText } from '../../base/units.ts'
import { type GateSample, type Recovery, recoveryOf } from '../indicators/indicators.ts'

/** The measures of gates: rates from 0 to 1, or latencies in milliseconds. */
export const MEASURES = ['errors', 'success', 'p50', 'p95', 'p99'] as const

export type Measure = (typeof MEASURES)[number]

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
}

/** The measured values; null without data. */
export type Measured = Readonly<Record<Measure, number | null>>

/** Returns the gate that fails beyond a limit, which is in milliseconds or in percent, for a time. */
export function gateOf(measure: Measure, written: number, forMs = 0): Gate {
  const operator = measure === 'success' ? '<' : '>'
  const limit = isShare(measure) ? written / 100 : written
  const shown = isShare(measure) ? `${written}%` : durationText(written)
  const lasting = forMs === 0 ? '' : ` for ${durationText(forMs)}`
  return { measure, text: `${measure} ${operator}${shown}${lasting}`, operator, limit, forMs }
}

/** Returns true when a measured value fails the gate; undefined without data. */
export function fails({ measure, operator, limit }: Gate, measured: Measured): boolean | undefined {
  const value = measured[measure]
  if (value === null) return undefined
  return operator === '<' ? value < limit : value > limit
}

/** Formats a measured value. */
export function shownMeasure(measure: Measure, value: number | null): string {
  if (value === null) return 'nothing'
  return isShare(measure) ? percentage(value) : latency(value)
}

function isShare(measure: Measure): boolean {
  return measure === 'errors' || measure === 'success'
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
      // Without a measurement the state stays: missing data is no recovery.
      if (failed === false) this.#since.delete(gate)
      if (failed !== true) continue
      const since = this.#since.get(gate) ?? at
      this.#since.set(gate, since)
      if (at - since < gate.forMs) continue
      first ??= { gate: gate.text, measure: gate.measure, measured: measured[gate.measure] }
    }
    return first
  }
}

/** Returns true when any gate fails; undefined when none could be measured. */
export function anyFails(gates: readonly Gate[], measured: Measured): boolean | undefined {
  const found = gates.map((gate) => fails(gate, measured))
  if (found.includes(true)) return true
  return found.includes(false) ? false : undefined
}

/** Describes the gates that fail. A gate that cannot be measured fails. */
export function failureTexts(gates: readonly Gate[], measured: Measured): readonly string[] {
  return gates
    .filter((gate) => fails(gate, measured) !== false)
    .map(({ measure, limit, operator }) => {
      const wants = operator === '>' ? 'at most' : 'at least'
      const found = shownMeasure(measure, measured[measure])
      return `${measure} is ${found}, but must be ${wants} ${shownMeasure(measure, limit)}`
    })
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

  /** Returns the time for which no gate has failed. */
  steadyForMs(since: number, now: number): number {
    const after = this.#samples.filter(({ at }) => at >= since)
    const lastFailed = after.findLastIndex(({ failed }) => failed)
    const first = after[lastFailed + 1]
    return first === undefined ? 0 : now - first.at
  }

  /** The start of the stage in which a gate first failed, or else of the last stage. */
  get injectedAt(): number | undefined {
    const first = this.#samples.find(({ failed }) => failed)
    return this.#injectedBefore(first?.at ?? Infinity)
  }

  /** Returns the times to detect and to recover, from the start of the stage in which a gate first failed. */
  recovery(steadyForMs: number): Recovery {
    const { injectedAt } = this
    if (injectedAt === undefined) return { detectMs: undefined, recoverMs: undefined }
    return recoveryOf(this.#samples, injectedAt, steadyForMs)
  }

  /** Returns the time since the start of the stage in which a moment was, or that it followed. */
  sinceInjection(at: number): number | undefined {
    const injectedAt = this.#injectedBefore(at)
    return injectedAt === undefined ? undefined : at - injectedAt
  }

  #injectedBefore(moment: number): number | undefined {
    return this.#injections.findLast((at) => at <= moment)
  }
}
