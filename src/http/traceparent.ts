/** Version, trace id, span id and flags, up to where later versions may add to them. */
const LENGTH = 55
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const FIRST_VERSION = '00'

/**
 * The trace that a `traceparent` names: its first 55 characters where it is valid by W3C's rules, or
 * undefined.
 */
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
