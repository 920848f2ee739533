import type { CallResponse } from '../clients/load-client.ts'
import { Histogram } from './histogram.ts'
import { splitMarker } from '../clients/markers.ts'
import type { FaultSeen } from './result.ts'

/**
 * Limits the distinct markers, because they are untrusted; further markers are counted together.
 */
const MAX_FAULTS = 1000

type Seen = ReturnType<typeof notSeen>

/** Counts faults by the markers of responses. */
export class FaultRecorder {
  readonly #faults = new Map<string, Seen>()

  add(tool: string, { kind, markers }: CallResponse, latencyMs: number, correct: boolean): void {
    for (const marker of new Set(markers)) {
      const seen = this.#of(marker)
      if (seen === undefined) continue
      seen.seen++
      if (kind !== 'ok') seen.errors++
      else if (!correct) seen.wrong++
      seen.tools.set(tool, (seen.tools.get(tool) ?? 0) + 1)
      seen.latency.add(latencyMs)
    }
  }

  /** Adds the counts of the same fault from another run. */
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

  /** Returns the counts, the most frequent first. */
  list(): FaultSeen[] {
    return [...this.#faults.values()]
      .map((seen) => ({
        ...seen,
        tools: Object.fromEntries(seen.tools),
        latency: seen.latency.latency(),
      }))
      .sort((a, b) => b.seen - a.seen)
  }

  #of(marker: string): Seen | undefined {
    const known = this.#faults.get(marker)
    if (known !== undefined || this.#faults.size >= MAX_FAULTS) return known
    const made = notSeen(marker)
    this.#faults.set(marker, made)
    return made
  }
}

function notSeen(marker: string) {
  const tools = new Map<string, number>()
  return { ...splitMarker(marker), seen: 0, errors: 0, wrong: 0, tools, latency: new Histogram() }
}
