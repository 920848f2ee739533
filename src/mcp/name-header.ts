const PREFIX = '=?base64?'
const SUFFIX = '?='
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const PLAIN = /^[\t\x20-\x7e]*$/
// Built once: `fatal` refuses broken UTF-8, and a leading U+FEFF is part of the name.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text that an `Mcp-Name` or `Mcp-Param-*` value stands for; undefined when it is malformed. */
export function decodeHeaderValue(value: string): string | undefined {
  const trimmed = trimOws(value)
  if (!looksEncoded(trimmed)) return PLAIN.test(trimmed) ? trimmed : undefined
  const payload = trimmed.slice(PREFIX.length, -SUFFIX.length)
  if (payload.length % 4 !== 0 || !BASE64.test(payload)) return undefined
  const bytes = Buffer.from(payload, 'base64')
  // One text has one spelling: stray bits behind the last byte are refused, as servers do.
  if (bytes.toString('base64') !== payload) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** The header value for a text: as it is where that is safe, else in the base64 form. */
export function encodeHeaderValue(text: string): string {
  const plain = text !== '' && PLAIN.test(text) && trimOws(text) === text && !looksEncoded(text)
  return plain ? text : `${PREFIX}${Buffer.from(text, 'utf8').toString('base64')}${SUFFIX}`
}

function looksEncoded(value: string): boolean {
  return (
    value.length >= PREFIX.length + SUFFIX.length &&
    value.startsWith(PREFIX) &&
    value.endsWith(SUFFIX)
  )
}

/** Header values carry optional spaces and tabs around them, and nothing else that may be cut. */
function trimOws(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isOws(value.charCodeAt(start))) start++
  while (end > start && isOws(value.charCodeAt(end - 1))) end--
  return start === 0 && end === value.length ? value : value.slice(start, end)
}

function isOws(code: number): boolean {
  return code === 0x20 || code === 0x09
}
