import { Agent, request } from 'node:http'
import { JSON_RESPONSE, LONG_RESPONSE, SESSION, STREAM_EVENTS } from './check-upstream.mjs'
import { streamEvent } from './check-upstream.mjs'
import { REQUEST_HEADERS } from './workloads.mjs'

const PATIENCE_MS = 5000

/** @param {string} name */
const call = (name) =>
  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"${name}","arguments":{"b":1,"a":"ü"}}}`
const NOTIFICATION = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

/**
 * Returns the errors of a proxy, in words; none if it passes MCP traffic as it should.
 * @param {number} port
 * @param {Awaited<ReturnType<typeof import('./check-upstream.mjs').startCheckUpstream>>} upstream
 * @returns {Promise<string[]>}
 */
export async function faultsOf(port, upstream) {
  /** @type {string[]} */
  const faults = []
  // One connection for all of them: a response that is framed wrongly spoils the next one.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  /** @param {string} what @param {unknown} got @param {unknown} wanted */
  const expect = (what, got, wanted) => {
    if (got !== wanted) faults.push(`${what}: ${brief(got)} instead of ${brief(wanted)}`)
  }

  try {
    const plain = await post(port, agent, call('plain'))
    const reached = upstream.seen.at(-1)
    expect('JSON status', plain.status, 200)
    expect('JSON body', plain.body, JSON_RESPONSE)
    expect('JSON content-type', plain.headers['content-type'], 'application/json')
    expect('session to the client', plain.headers['mcp-session-id'], SESSION)
    expect('request body', reached?.body, call('plain'))
    for (const [name, value] of Object.entries(REQUEST_HEADERS)) {
      expect(`${name} to the upstream`, reached?.headers[name], value)
    }
    expect('host to the upstream', reached?.headers.host, `127.0.0.1:${port}`)

    const accepted = await post(port, agent, NOTIFICATION)
    expect('notification status', accepted.status, 202)
    expect('notification answer', accepted.body, '')

    let read = 0
    const streamed = await post(port, agent, call('stream'), (text) => {
      while (read < STREAM_EVENTS && text.includes(streamEvent(read + 1))) {
        read += 1
        upstream.acknowledge(read)
      }
    })
    expect('SSE status', streamed.status, 200)
    expect('SSE content-type', streamed.headers['content-type'], 'text/event-stream')
    expect('SSE events', streamed.body, [1, 2, 3].map(streamEvent).join(''))

    const long = await post(port, agent, call('long'))
    expect('1 MB answer', long.body, LONG_RESPONSE.toString('utf8'))
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error))
  } finally {
    agent.destroy()
  }
  return faults
}

/** @param {unknown} value */
function brief(value) {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 120 ? `${text.slice(0, 120)}… (${text.length} characters)` : text
}

/**
 * @typedef {object} Answer
 * @property {number | undefined} status
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {string} body
 */

/**
 * @param {number} port
 * @param {Agent} agent
 * @param {string} body
 * @param {(textSoFar: string) => void} [onText]
 * @returns {Promise<Answer>}
 */
export function post(port, agent, body, onText) {
  return new Promise((resolve, reject) => {
    const headers = { ...REQUEST_HEADERS, 'content-length': Buffer.byteLength(body) }
    const outgoing = request(
      { host: '127.0.0.1', port, path: '/mcp', method: 'POST', agent, headers },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece) => {
          text += piece
          onText?.(text)
        })
        response.on('end', () =>
          resolve({ status: response.statusCode, headers: response.headers, body: text }),
        )
        response.on('error', reject)
      },
    )
    outgoing.setTimeout(PATIENCE_MS, () => {
      outgoing.destroy(new Error(`nothing came for ${PATIENCE_MS} ms after ${brief(body)}`))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
