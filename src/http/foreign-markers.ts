import { asBuffer } from '../base/bytes.ts'
import { type HeaderLines, headerValues } from './headers.ts'

/**
 * The effect of the faults of another Squall in front of the upstream: `slow` for faults that make
 * no error response.
 */
export type ForeignMark = 'fault' | 'slow'

// The names after `renameSquallHeaders` and `MarkerRenamer`, so that no marker of this Squall fits.
const HEADER = 'x-upstream-squall-fault'
const COMMENT = /^: x-squall_fault (.+)$/gm
/** Runs of comments beyond this size are not from Squall. */
const MAX_COMMENTS = 16 * 1024
/** An error response behind these faults alone is from the server itself. */
const SLOW = new Set(['delay', 'throttle', 'hang', 'amplify'])

/** Reads the markers in the headers of a response. */
export function markInHeaders(lines: HeaderLines): ForeignMark | undefined {
  return markOf(headerValues(lines, HEADER))
}

/** Reads the markers in the comments before or within an event. */
export function markInComments(raw: Uint8Array): ForeignMark | undefined {
  if (raw.length > MAX_COMMENTS) return undefined
  const text = asBuffer(raw).toString('latin1')
  return markOf(Array.from(text.matchAll(COMMENT), ([, marker]) => marker!))
}

/** Combines two marks: `fault` includes `slow`. */
export function bothMarks(
  one: ForeignMark | undefined,
  other: ForeignMark | undefined,
): ForeignMark | undefined {
  return one === 'fault' ? one : (other ?? one)
}

/** Proxies may join header lines with commas. */
function markOf(markers: readonly string[]): ForeignMark | undefined {
  if (markers.length === 0) return undefined
  const names = markers.flatMap((text) => text.split(',').map((each) => each.trim().split('/')[1]))
  return names.every((name) => name !== undefined && SLOW.has(name)) ? 'slow' : 'fault'
}
