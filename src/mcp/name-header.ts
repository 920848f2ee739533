const PREFIX = '=?base64?'
const SUFFIX = '?='
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const PLAIN = /^[\t\x20-\x7e]*$/
// `fatal` rejects invalid UTF-8; a leading U+FEFF is part of the name.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes an `Mcp-Name` or `Mcp-Param-*` value; undefined when it is malformed. */
export function decodeHeaderValue(value: string): string | undefined {
  const trimmed = trimOws(value)
  if (!looksEncoded(trimmed)) return PLAIN.test(trimmed) ? trimmed : undefined
  const payload = trimmed.slice(PREFIX.length, -SUFFIX.length)
  if (payload.length % 4 !== 0 || !BASE64.test(payload)) return undefined
  const bytes = Buffer.from(payload, 'base64')
  // Stray bits behind the last byte are rejected, as servers do.
  if (bytes.toString('base64') !== payload) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** Encodes a text as a header value: unchanged where that is safe, else in base64. */
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

/** Removes optional whitespace (spaces and tabs) around a header value. */
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
