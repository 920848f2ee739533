import { readDuration, readPercent } from '../../base/units.ts'
import { type GateSample, type Recovery, recoveryOf } from '../indicators/indicators.ts'

/** The measures of gates: rates from 0 to 1, or latencies in milliseconds. */
export const MEASURES = ['errors', 'success', 'p50', 'p95', 'p99'] as const

export type Measure = (typeof MEASURES)[number]

/** A limit that is checked continuously. */
export interface Gate {
  readonly measure: Measure
  /** The text as written: `errors >5% for 30s`. */
  readonly text: string
  readonly operator: '<' | '>'
  /** Milliseconds, or a rate from 0 to 1. */
  readonly limit: number
  /** The time for which the gate must fail without a pause. */
  readonly forMs: number
}

/** The measured values; null without data. */
export type Measured = Readonly<Record<Measure, number | null>>

const CONDITION = /^\s*([0-9.]+\s*(?:%|ms|s|m))\s*(?:for\s+([0-9.]+(?:ms|s|m|h)))?\s*$/

/** Parses `5% for 30s` or `10s` as the limit of an abort condition; returns a message when it is invalid. */
export function readAbortGate(measure: Measure, written: string): Gate | string {
  const example = isShare(measure)
    ? measure === 'success'
      ? '`95% for 30s`'
      : '`5% for 30s`'
    : '`10s`'
  const match = CONDITION.exec(written)
  if (match === null) return `needs a limit without a comparison, such as ${example}`
  const [, bound = '', lasting] = match
  const operator = measure === 'success' ? '<' : '>'
  const limit = limitOf(measure, bound.replace(/\s/g, ''))
  if (limit === undefined) {
    return `needs a limit ${isShare(measure) ? 'in percent' : 'with a unit of time'}, such as ${example}`
  }
  const forMs = lasting === undefined ? 0 : readDuration(lasting)
  if (forMs === undefined) return `needs a duration after \`for\`, such as ${example}`
  return { measure, text: `${measure} ${operator}${written.trim()}`, operator, limit, forMs }
}

/** Returns the gate for the steady state: at most the limit, or for `success` at least the limit. */
export function steadyGate(measure: Measure, limit: number): Gate {
  const operator = measure === 'success' ? '<' : '>'
  const shown = isShare(measure) ? `${limit * 100}%` : `${limit}ms`
  return { measure, text: `${measure} ${operator}${shown}`, operator, limit, forMs: 0 }
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
  if (isShare(measure)) return `${Math.round(value * 10_000) / 100}%`
  return value < 1000 ? `${Math.round(value)} ms` : `${Math.round(value / 10) / 100} s`
}

function isShare(measure: Measure): boolean {
  return measure === 'errors' || measure === 'success'
}

function limitOf(measure: Measure, text: string): number | undefined {
  if (!isShare(measure)) return readDuration(text)
  const percent = readPercent(text)
  return percent === undefined ? undefined : percent / 100
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

  /** Returns the times to detect and to recover, from the start of the stage in which a gate first failed. */
  recovery(steadyForMs: number): Recovery {
    const first = this.#samples.find(({ failed }) => failed)
    const injectedAt = this.#injections.findLast((at) => at <= (first?.at ?? Infinity))
    if (injectedAt === undefined) return { detectMs: undefined, recoverMs: undefined }
    return recoveryOf(this.#samples, injectedAt, steadyForMs)
  }
}
