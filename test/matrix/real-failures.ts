import type { ServerResponse } from 'node:http'
import type { FailingResponse, BeforeResponse } from './failing-response.ts'

/** A server that really fails: in place of the upstream, or in the upstream's response. */
export interface RealFailure {
  /** Sends what is sent in the upstream's place. */
  readonly instead?: (response: ServerResponse) => void
  readonly beforeResponse?: BeforeResponse
  /** With `beforeResponse`: what its responses claim to be. */
  readonly type?: string
  /** With `beforeResponse`: at the first event of a stream already. */
  readonly atStart?: true
  /** The server forgets the session before it looks at the call. */
  readonly forgets?: true
  /** The tool fails by itself. */
  readonly byTool?: true
}

const status =
  (
    code: number,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): NonNullable<RealFailure['instead']> =>
  (response) => {
    response.writeHead(code, headers)
    response.end(body)
  }

const JSON_TYPE = { 'content-type': 'application/json' }
export const PAGE = '<html><body><h1>503 Service Unavailable</h1></body></html>'

/** The ways in which the servers of the matrix really fail. */
export const REAL_FAILURES = {
  'status 500': { instead: status(500, { 'content-type': 'text/plain' }, 'Internal Server Error') },
  'status 503': { instead: status(503, { 'content-type': 'text/html' }, PAGE) },
  'status 404': { instead: status(404, { 'content-type': 'text/plain' }, 'Not Found') },
  'status 400': { instead: status(400, { 'content-type': 'text/plain' }, 'Bad Request') },
  'status 202': { instead: status(202, {}, '') },
  'status 429': {
    instead: status(429, { ...JSON_TYPE, 'retry-after': '1' }, '{"error":"too_many_requests"}'),
  },
  'status 401': {
    instead: status(401, { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="mcp"' }, '{}'),
  },
  'status 403': {
    instead: status(
      403,
      {
        ...JSON_TYPE,
        'www-authenticate': 'Bearer error="insufficient_scope", scope="files:write"',
      },
      '{}',
    ),
  },
  'status 503 afterwards': {
    beforeResponse: ending((_, answer) => {
      answer.head({ status: 503, type: 'text/html' })
      answer.write(PAGE)
      answer.end()
    }),
  },
  'session forgotten': { forgets: true },
  'tool error': { byTool: true },
  'rpc error': { byTool: true },
  'tool never ends': { byTool: true },
  silence: { instead: () => undefined },
  'reset before': { instead: (response) => void response.socket?.resetAndDestroy() },
  'fin before': { instead: (response) => void response.socket?.end() },
  'reset without headers': { beforeResponse: ending((_, answer) => answer.reset()) },
  'fin without headers': { beforeResponse: ending((_, answer) => answer.fin()) },
  'silence behind headers': { beforeResponse: ending((_, answer) => answer.head({ keep: true })) },
  'silence within': {
    beforeResponse: ending((piece, answer) => {
      answer.head({ keep: true })
      if (!answer.isStream) answer.write(piece.slice(0, 20))
    }),
  },
  'reset within': {
    beforeResponse: ending((piece, answer) => {
      answer.head({ keep: true })
      if (!answer.isStream) answer.write(piece.slice(0, 20))
      answer.reset()
    }),
  },
  'fin within': {
    beforeResponse: ending((piece, answer) => {
      answer.head({ keep: true })
      if (!answer.isStream) answer.write(piece.slice(0, 20))
      answer.fin()
    }),
  },
  'silence after 20 bytes': {
    atStart: true,
    beforeResponse: ending((piece, answer) => {
      answer.head({ keep: true })
      answer.write(piece.slice(0, 20))
    }),
  },
  'reset after 20 bytes': {
    atStart: true,
    beforeResponse: ending((piece, answer) => {
      answer.head({ keep: true })
      answer.write(piece.slice(0, 20))
      answer.reset()
    }),
  },
  'half, broken': {
    beforeResponse: ending((piece, answer) => {
      answer.head({ keep: true })
      answer.write(half(piece))
      answer.fin()
    }),
  },
  'half, clean': {
    beforeResponse: ending((piece, answer) => {
      answer.head()
      answer.write(half(piece))
      answer.end()
    }),
  },
  'stream ends': {
    beforeResponse: ending((_, answer) => {
      answer.head()
      answer.end()
    }),
  },
  'answer missing': { beforeResponse: changed(() => '') },
  garbage: { beforeResponse: replaced('%%%~~~###') },
  'not utf-8': {
    beforeResponse: changed((text) => Buffer.from(text.replace('Oslo', 'Os\xff\xfe'), 'latin1')),
  },
  empty: { beforeResponse: replaced('') },
  'html page': { beforeResponse: replaced(PAGE, 'text/html') },
  'wrong type': { beforeResponse: changed((text) => text), type: 'text/plain' },
  'wrong id': { beforeResponse: changed((text) => text.replace(/"id":\s*(\d+)/, '"id":99$1')) },
  'text id': { beforeResponse: changed((text) => text.replace(/"id":\s*(\d+)/, '"id":"$1"')) },
  'answer twice': { beforeResponse: changed((text, isStream) => (isStream ? text + text : text)) },
  'number as text': {
    beforeResponse: changed((text) =>
      text.replace(/(\\?)"temperature\\?":21/g, '$1"temperature$1":$1"21$1"'),
    ),
  },
} as const satisfies Record<string, RealFailure>

/** The name of a way to fail. */
export type RealFailureName = keyof typeof REAL_FAILURES

/** Nothing follows. */
function ending(beforeResponse: (piece: string, answer: FailingResponse) => void): BeforeResponse {
  return (piece, answer) => {
    beforeResponse(piece, answer)
    return false
  }
}

function half(piece: string): string {
  return piece.slice(0, piece.length / 2)
}

/** The response with other bytes, and perhaps another type; events stay events. */
function replaced(bytes: string | Buffer, type?: string): BeforeResponse {
  return (piece, answer) => {
    answer.head(answer.isStream || type === undefined ? {} : { type })
    if (answer.isStream) answer.write(piece.slice(0, piece.indexOf('data: ') + 6))
    answer.write(bytes)
    if (answer.isStream) answer.write('\n\n')
    return true
  }
}

function changed(change: (piece: string, isStream: boolean) => string | Buffer): BeforeResponse {
  return (piece, answer) => {
    answer.head()
    answer.write(change(piece, answer.isStream))
    return true
  }
}
