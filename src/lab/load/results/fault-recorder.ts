import type { CallAnswer } from '../clients/load-client.ts'
import { Histogram } from './histogram.ts'
import { splitMark } from '../clients/markers.ts'
import type { FaultSeen } from './result.ts'

/** More marks than this are not told apart: they come from outside. */
const MAX_FAULTS = 1000

interface Seen {
  readonly rule: string
  readonly fault: string
  seen: number
  errors: number
  wrong: number
  readonly tools: Map<string, number>
  readonly latency: Histogram
}

/** Counts what answers say of faults by their marks. */
export class FaultRecorder {
  readonly #faults = new Map<string, Seen>()

  add(tool: string, { kind, marks }: CallAnswer, latencyMs: number, correct: boolean): void {
    for (const mark of new Set(marks)) {
      const seen = this.#of(mark)
      if (seen === undefined) continue
      seen.seen++
      if (kind !== 'ok') seen.errors++
      else if (!correct) seen.wrong++
      seen.tools.set(tool, (seen.tools.get(tool) ?? 0) + 1)
      seen.latency.add(latencyMs)
    }
  }

  /** Takes what was seen of the same fault elsewhere. */
  merge(other: FaultSeen): void {
    const seen = this.#of(`${other.rule}/${other.fault}`)
    if (seen === undefined) return
    seen.seen += other.seen
    seen.errors += other.errors
    seen.wrong += other.wrong
    for (const [tool, times] of Object.entries(other.tools)) {
      seen.tools.set(tool, (seen.tools.get(tool) ?? 0) + times)
    }
    seen.latency.addAll(other.latency.histogram)
  }

  /** The most frequent first. */
  list(): FaultSeen[] {
    return [...this.#faults.values()]
      .map((seen) => ({
        ...seen,
        tools: Object.fromEntries(seen.tools),
        latency: seen.latency.latency(),
      }))
      .sort((a, b) => b.seen - a.seen)
  }

  #of(mark: string): Seen | undefined {
    const known = this.#faults.get(mark)
    if (known !== undefined || this.#faults.size >= MAX_FAULTS) return known
    const counts = { seen: 0, errors: 0, wrong: 0, tools: new Map(), latency: new Histogram() }
    const made = { ...splitMark(mark), ...counts }
    this.#faults.set(mark, made)
    return made
  }
}
