import { type Gate, isBroken, type Measured } from './gate.ts'

/** A gate that was broken for as long as it takes. */
export interface Breach {
  readonly gate: string
  readonly measure: Gate['measure']
  /** Null where it was not a measured value that broke it. */
  readonly measured: number | null
}

/** Remembers since when each gate is broken. */
export class AbortWatch {
  readonly #gates: readonly Gate[]
  readonly #since = new Map<Gate, number>()

  constructor(gates: readonly Gate[]) {
    this.#gates = gates
  }

  /** Takes what was measured at a time, in milliseconds; the first gate that is broken long enough. */
  look(measured: Measured, at: number): Breach | undefined {
    let breach: Breach | undefined
    for (const gate of this.#gates) {
      const broken = isBroken(gate, measured)
      // Where nothing was measured nothing changes: silence is no recovery.
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
