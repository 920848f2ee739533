const CHARACTER = "[A-Za-z0-9!#$%&'*+.^_`|~-]"
const TOKEN = new RegExp(`^${CHARACTER}+$`)
/** The pattern of a header name in a JSON Schema. */
export const HEADER_NAME_PATTERN = `^${CHARACTER}{1,128}$`
/** The longest header name that is sent or matched. */
const MAX_NAME = 256
/** The pattern of every name that `isHeaderName` takes. */
export const ANY_HEADER_NAME_PATTERN = `^${CHARACTER}{1,${MAX_NAME}}$`
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Returns true for a token of RFC 9110, such as a method or a header name. */
export function isToken(text: string, most: number): boolean {
  return text.length <= most && TOKEN.test(text)
}

/** Returns true for a header name. */
export function isHeaderName(text: string): boolean {
  return isToken(text, MAX_NAME)
}

/** Headers of message framing: a wrong value would break the connection, not the call. */
const FRAMING = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns the reason for which a header cannot be sent; undefined when it can. */
export function headerProblem(name: string, value: string): string | undefined {
  if (!isHeaderName(name)) return 'invalid header name'
  if (FRAMING.has(name.toLowerCase())) return 'framing headers cannot be set'
  return VALUE.test(value) ? undefined : 'invalid header value: line breaks or control characters'
}
