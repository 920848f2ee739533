import type { HeaderLines } from '../../../http/headers.ts'

/** The header that names the rules and faults that acted on a response. */
export const FAULT_HEADER = 'x-squall-fault'

const MAX_TOKEN = 100

/** Returns the marker of a fault: `rule/fault`, in characters that headers and comments allow. */
export function faultMarker(rule: string, fault: string): string {
  return `${token(rule)}/${token(fault)}`
}

/** Adds a header for each marker. */
export function withMarkers(lines: HeaderLines, markers: readonly string[]): HeaderLines {
  return markers.length === 0
    ? lines
    : [...lines, ...markers.flatMap((marker) => [FAULT_HEADER, marker])]
}

/** Encodes markers as comments in front of an event. */
export function markerComments(markers: readonly string[]): Buffer {
  return Buffer.from(markers.map((marker) => `: ${FAULT_HEADER} ${marker}\n\n`).join(''), 'latin1')
}

function token(name: string): string {
  const safe = name.slice(0, MAX_TOKEN).replace(/[^A-Za-z0-9._~-]/g, '_')
  return safe === '' ? '_' : safe
}
