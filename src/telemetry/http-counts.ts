import { ORIGINS } from '../mcp/call.ts'
import { ORIGIN } from './outcome-index.ts'
import { CountRow } from './series.ts'
import type { HttpRecord } from './telemetry.ts'

const CLASS: Readonly<Record<HttpRecord['class'], number>> = { mcp: 0, http: 1, upgrade: 2 }
const CLASSES = Object.keys(CLASS)
const NONE = 0
const OTHER = 1
const STATUSES = 600
const SIZE = CLASSES.length * ORIGINS.length * STATUSES

/** Counts exchanges without calls by class, origin and status. */
export class HttpCounts {
  readonly series = new CountRow('squall_http_requests_total', SIZE, (i) => {
    const row = Math.floor(i / STATUSES)
    const code = i % STATUSES
    return {
      class: CLASSES[Math.floor(row / ORIGINS.length)]!,
      code: code === NONE ? 'none' : code === OTHER ? 'other' : String(code),
      origin: ORIGINS[row % ORIGINS.length]!,
    }
  })

  add(record: HttpRecord): void {
    const { status } = record
    // The upstream's status is untrusted: only known ones become labels.
    const code =
      status >= 100 && status < STATUSES ? Math.trunc(status) : status === 0 ? NONE : OTHER
    const row = CLASS[record.class] * ORIGINS.length + ORIGIN[record.origin]
    this.series.counts[row * STATUSES + code]!++
  }
}
