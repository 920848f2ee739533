const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

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
  if (!NAME.test(name)) return 'not a header name'
  if (FRAMING.has(name.toLowerCase())) return 'this header frames the message and cannot be set'
  return VALUE.test(value) ? undefined : 'a header value holds no line breaks or control characters'
}
