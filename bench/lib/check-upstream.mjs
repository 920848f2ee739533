import { createServer } from 'node:http'
import { EventEmitter, once } from 'node:events'

/** The session that the upstream hands out. */
export const SESSION = '0b6c8f3e-upstream-session'

/** The number of events of its stream. */
export const STREAM_EVENTS = 3

/** A response long enough to arrive in many pieces. */
export const LONG_RESPONSE = Buffer.from(JSON.stringify({ long: 'abcdefghij'.repeat(100_000) }))

/** The JSON response to a plain call, spaced so that a re-serialised copy would differ. */
export const JSON_RESPONSE =
  '{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "ä ok"}]} }'

/** @param {number} n */
export function streamEvent(n) {
  return `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":${n}}}\n\n`
}

/**
 * @typedef {object} Seen
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {string} body
 */

/**
 * An upstream that remembers what reached it, and that sends the next event of a stream only after
 * the client has reported the last one, so that a proxy which holds events back is found out.
 */
export async function startCheckUpstream() {
  /** @type {Seen[]} */
  const seen = []
  const received = new EventEmitter()

  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text) => (body += text))
    request.on('end', () => {
      seen.push({ headers: request.headers, body })
      answer(body, response)
    })
  })

  /** @param {string} body @param {import('node:http').ServerResponse} response */
  function answer(body, response) {
    response.setHeader('mcp-session-id', SESSION)
    if (body.includes('"notifications/')) {
      response.writeHead(202).end()
    } else if (body.includes('"name":"stream"')) {
      void stream(response)
    } else {
      const bytes = body.includes('"name":"long"') ? LONG_RESPONSE : Buffer.from(JSON_RESPONSE)
      response.setHeader('content-type', 'application/json')
      response.setHeader('content-length', bytes.length)
      response.end(bytes)
    }
  }

  /** @param {import('node:http').ServerResponse} response */
  async function stream(response) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let n = 1; n <= STREAM_EVENTS; n++) {
      const acknowledged = once(received, String(n))
      response.write(streamEvent(n))
      await acknowledged
    }
    response.end()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    seen,
    /** @param {number} n */
    acknowledge: (n) => received.emit(String(n)),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
