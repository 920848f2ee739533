import type { Rejection } from '../rejection.ts'

/** An error of node:http about a client's bytes. */
export interface ParserError extends Error {
  readonly code?: string | undefined
  /** The parser's message. */
  readonly reason?: string
}

const BOTH_LENGTHS = 'both Content-Length and Transfer-Encoding; send only one of them'
const LINE_END = 'a line ends in something other than CR LF; end each line with CR LF'
const VERSION = 'only HTTP/1.0 and HTTP/1.1 are supported; send HTTP/1.1'

/** Rejects a request for any other reason. */
export const INVALID = badRequest('the request is not valid HTTP/1.1')

/** Rejects other versions of HTTP. */
export const WRONG_VERSION: Rejection = { status: 505, reason: 'bad_request', message: VERSION }

/** Rejects a request whose headers are late. */
export const TOO_LATE: Rejection = {
  status: 408,
  reason: 'slow_client',
  message: 'the request headers did not arrive in time',
}

const TOO_LARGE: Rejection = {
  status: 431,
  reason: 'bad_request',
  message: 'the request headers are too large',
}

const BY_CODE: Readonly<Record<string, Rejection>> = {
  HPE_HEADER_OVERFLOW: TOO_LARGE,
  ERR_HTTP_REQUEST_TIMEOUT: TOO_LATE,
  HPE_INVALID_VERSION: WRONG_VERSION,
  HPE_PAUSED_H2_UPGRADE: WRONG_VERSION,
  HPE_INVALID_METHOD: badRequest('unknown method; use a registered method in uppercase'),
  HPE_INVALID_URL: badRequest(
    'the request target contains an invalid character; percent-encode it',
  ),
  HPE_INVALID_CONSTANT: badRequest(
    'invalid request line; send a method, a target and a version, and percent-encode spaces in the target',
  ),
  HPE_CR_EXPECTED: badRequest(LINE_END),
  HPE_LF_EXPECTED: badRequest(LINE_END),
  HPE_INVALID_HEADER_TOKEN: badRequest(
    'a header name contains an invalid character; rename the header',
  ),
  HPE_UNEXPECTED_CONTENT_LENGTH: badRequest('duplicate Content-Length; send only one'),
  HPE_INVALID_CONTENT_LENGTH: badRequest('Content-Length must be a decimal number'),
  HPE_INVALID_TRANSFER_ENCODING: badRequest('unsupported Transfer-Encoding; use chunked'),
  HPE_INVALID_CHUNK_SIZE: badRequest('invalid chunk size; use hexadecimal digits'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: badRequest('the chunk extensions are too large; remove them'),
}

/** Rejections by message, for codes that stand for several errors. */
const BY_WORDS: Readonly<Record<string, Rejection>> = {
  'Expected CRLF after version': badRequest(LINE_END),
  'Unexpected whitespace after header value': badRequest(
    'folded headers are not supported; send each header on one line',
  ),
  'Invalid header value char': badRequest('a header value contains a control character; remove it'),
  "Content-Length can't be present with Transfer-Encoding": badRequest(BOTH_LENGTHS),
  "Transfer-Encoding can't be present with Content-Length": badRequest(BOTH_LENGTHS),
}

/** Maps a parser error to the rejection for the client. */
export function unreadableRequest({ code, reason }: ParserError): Rejection {
  return BY_WORDS[reason ?? ''] ?? BY_CODE[code ?? ''] ?? INVALID
}

function badRequest(message: string): Rejection {
  return { status: 400, reason: 'bad_request', message }
}
