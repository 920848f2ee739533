import { asBuffer } from '../base/bytes.ts'
import { type HeaderLines, headerValues } from './headers.ts'

/** The effect of the faults of another Squall on a response: 0 without a marker, `SLOW` or `FAULT`. */
export type ForeignMark = number
const SLOW = 1
export const FAULT = 2

// The names after `renameSquallHeaders` and `MarkerRenamer`, so that no marker of this Squall fits.
const HEADER = 'x-upstream-squall-fault'
const BEGIN = ': x-squall_fault '
const COMMENT = new RegExp(`^${BEGIN}(.+)$`, 'gm')
/** Runs of comments beyond this size are not from Squall. */
const MAX_COMMENTS = 16 * 1024
const SLOW_FAULTS = /^[^/]*\/(?:delay|throttle|hang|amplify)$/

/** Reads the markers in the headers of a response. */
export function markInHeaders(lines: HeaderLines): ForeignMark {
  return markOf(headerValues(lines, HEADER))
}

/** Reads the markers in the comments before an event. */
export function markInComments(raw: Uint8Array): ForeignMark {
  if (raw.length > MAX_COMMENTS) return 0
  const text = asBuffer(raw).toString('latin1')
  // Comments that keep a connection open are frequent.
  if (!text.includes(BEGIN)) return 0
  return markOf(Array.from(text.matchAll(COMMENT), ([, marker]) => marker!))
}

/** Returns true for a fault behind which an error response is from the server itself. */
export function isSlowFault(marker: string): boolean {
  return SLOW_FAULTS.test(marker)
}

function markOf(lines: readonly string[]): ForeignMark {
  if (lines.length === 0) return 0
  // Proxies may join header lines.
  const markers = lines.flatMap((line) => line.split(','))
  return markers.every((marker) => isSlowFault(marker.trim())) ? SLOW : FAULT
}
