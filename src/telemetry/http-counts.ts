import { ORIGIN, ORIGINS } from './outcome-index.ts'
import type { HttpRecord } from './telemetry.ts'
import type { Sample } from './text-format.ts'

const CLASS: Readonly<Record<HttpRecord['class'], number>> = { mcp: 0, http: 1, upgrade: 2 }
const CLASSES = Object.keys(CLASS)
const NONE = 0
const OTHER = 1
const STATUSES = 600

/** Counts exchanges without calls in one flat array, indexed by class, origin and status. */
export class HttpCounts {
  readonly #counts = new Float64Array(CLASSES.length * ORIGINS.length * STATUSES)

  add(record: HttpRecord): void {
    const { status } = record
    // The upstream's status is untrusted: only known ones become labels.
    const code =
      status >= 100 && status < STATUSES ? Math.trunc(status) : status === 0 ? NONE : OTHER
    const row = CLASS[record.class] * ORIGINS.length + ORIGIN[record.origin]
    this.#counts[row * STATUSES + code]!++
  }

  samples(): Sample[] {
    const samples: Sample[] = []
    this.#counts.forEach((value, i) => {
      if (value === 0) return
      const row = Math.floor(i / STATUSES)
      const code = i % STATUSES
      const labels = {
        class: CLASSES[Math.floor(row / ORIGINS.length)] ?? '',
        code: code === NONE ? 'none' : code === OTHER ? 'other' : String(code),
        origin: ORIGINS[row % ORIGINS.length] ?? '',
      }
      samples.push({ labels, value })
    })
    return samples
  }
}
