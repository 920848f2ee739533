import { type GateSample, recoveryOf, type Recovery } from '../indicators/indicators.ts'
import { type Gate, isBroken, type Measured, shownMeasure } from './gate.ts'

/** Returns true when any gate fails; undefined when none could be measured. */
export function anyBroken(gates: readonly Gate[], measured: Measured): boolean | undefined {
  const found = gates.map((gate) => isBroken(gate, measured))
  if (found.includes(true)) return true
  return found.includes(false) ? false : undefined
}

/** Describes the gates that fail. A gate that cannot be measured fails. */
export function brokenWords(gates: readonly Gate[], measured: Measured): readonly string[] {
  return gates
    .filter((gate) => isBroken(gate, measured) !== false)
    .map(({ measure, limit, operator }) => {
      const wants = operator === '>' ? 'at most' : 'at least'
      const found = shownMeasure(measure, measured[measure])
      return `${measure} is ${found}, and has to be ${wants} ${shownMeasure(measure, limit)}`
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

  add(at: number, broken: boolean | undefined): void {
    if (broken !== undefined && this.#injections.length > 0) this.#samples.push({ at, broken })
  }

  /** Returns the time for which no gate has failed. */
  steadyForMs(since: number, now: number): number {
    const after = this.#samples.filter(({ at }) => at >= since)
    const lastBroken = after.findLastIndex(({ broken }) => broken)
    const first = after[lastBroken + 1]
    return first === undefined ? 0 : now - first.at
  }

  /** Returns the times to detect and to recover, from the start of the stage with the first breach. */
  recovery(steadyForMs: number): Recovery {
    const first = this.#samples.find(({ broken }) => broken)
    const injectedAt = this.#injections.findLast((at) => at <= (first?.at ?? Infinity))
    if (injectedAt === undefined) return { detectMs: undefined, recoverMs: undefined }
    return recoveryOf(this.#samples, injectedAt, steadyForMs)
  }
}
