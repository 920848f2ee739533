import { type Gate, isBroken, type Measured } from './gate.ts'

/** A gate that failed for its full duration. */
export interface Breach {
  readonly gate: string
  readonly measure: Gate['measure']
  /** Null when no measured value caused the breach. */
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
  add(measured: Measured, at: number): Breach | undefined {
    let breach: Breach | undefined
    for (const gate of this.#gates) {
      const broken = isBroken(gate, measured)
      // Without a measurement the state stays: missing data is no recovery.
      if (broken === false) this.#since.delete(gate)
      if (broken !== true) continue
      const since = this.#since.get(gate) ?? at
      this.#since.set(gate, since)
      if (at - since < gate.forMs) continue
      breach ??= { gate: gate.text, measure: gate.measure, measured: measured[gate.measure] }
    }
    return breach
  }
}
