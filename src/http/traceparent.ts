/** The length of version, trace id, span id and flags; later versions may append fields. */
const LENGTH = 55
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const FIRST_VERSION = '00'

/**
 * Returns the first 55 characters of a `traceparent` that is valid by W3C's rules, or undefined.
 */
export function parseTraceparent(value: string): string | undefined {
  if (value.length === LENGTH) return FORM.test(value) ? value : undefined
  // Later versions may append fields behind another dash; they are ignored.
  if (value.length < LENGTH || value[LENGTH] !== '-' || value.startsWith(FIRST_VERSION)) {
    return undefined
  }
  const known = value.slice(0, LENGTH)
  // The copy does not keep the long header alive.
  return FORM.test(known) ? Buffer.from(known, 'latin1').toString('latin1') : undefined
}

/** Returns the trace id of a valid `traceparent`. */
export function traceId(trace: string): string {
  return trace.slice(3, 35)
}

/** Returns the span id of a valid `traceparent`. */
export function spanId(trace: string): string {
  return trace.slice(36, 52)
}

/** Returns true for a `traceparent` whose trace is recorded. */
export function isSampled(trace: string | undefined): boolean {
  return trace !== undefined && (Number.parseInt(trace.slice(53), 16) & 1) === 1
}
