import type { HeaderLines } from './http.ts'

const NAME = 'traceparent'
/** Version, trace id, span id and flags, up to where later versions may add to them. */
const LENGTH = 55
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const FIRST_VERSION = '00'

/**
 * The trace that a request belongs to: the first 55 characters of a valid W3C `traceparent`, or
 * undefined. Of two such headers nobody can say which one is meant.
 */
export function traceOf(lines: HeaderLines): string | undefined {
  let found: string | undefined
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i]!
    // The length first: for a request without a trace nothing more is done.
    if (name.length !== NAME.length || (name !== NAME && name.toLowerCase() !== NAME)) continue
    if (found !== undefined) return undefined
    found = lines[i + 1]!
  }
  return found === undefined ? undefined : traceIn(found)
}

/** The same of the value of the only such header. */
export function traceIn(value: string): string | undefined {
  if (value.length === LENGTH) return FORM.test(value) ? value : undefined
  // Later versions may go on behind another dash, and are read as far as they are known.
  if (value.length < LENGTH || value[LENGTH] !== '-' || value.startsWith(FIRST_VERSION)) {
    return undefined
  }
  const known = value.slice(0, LENGTH)
  // Through bytes and back, so that no long header is kept alive.
  return FORM.test(known) ? Buffer.from(known, 'latin1').toString('latin1') : undefined
}
