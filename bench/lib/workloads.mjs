import { shaped } from './shapes.mjs'

/**
 * Describes a request and its response. `answer` is the body; `events` of them make an SSE stream.
 * @typedef {object} Workload
 * @property {string} name
 * @property {string} summary
 * @property {string} request
 * @property {string} contentType
 * @property {Buffer} answer
 * @property {number} events      0: the response has a Content-Length and is sent whole
 * @property {number} connections
 */

const SMALL_REQUEST = call('x'.repeat(25))
const SMALL_RESPONSE = result('y'.repeat(81))
const SSE_EVENTS = 100

/** @param {string} text */
function call(text) {
  const params = { name: 'echo', arguments: { text } }
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

/** @param {string} text */
function result(text) {
  const content = [{ type: 'text', text }]
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content, isError: false } })
}

function events() {
  let text = ''
  for (let i = 1; i < SSE_EVENTS; i++) {
    const params = { progressToken: 1, progress: i, total: SSE_EVENTS }
    const message = { jsonrpc: '2.0', method: 'notifications/progress', params }
    text += `event: message\ndata: ${JSON.stringify(message)}\n\n`
  }
  return Buffer.from(`${text}event: message\ndata: ${SMALL_RESPONSE}\n\n`)
}

/** @type {Record<string, () => Workload>} */
const MAKERS = {
  small: () => ({
    name: 'small',
    summary: `a ${SMALL_REQUEST.length}-byte tools/call, a ${SMALL_RESPONSE.length}-byte JSON result`,
    request: SMALL_REQUEST,
    contentType: 'application/json',
    response: Buffer.from(SMALL_RESPONSE),
    events: 0,
    connections: 32,
  }),
  large64k: () => ({
    name: 'large64k',
    summary: 'a tools/call with 64 KiB of arguments, a 64 KiB JSON result',
    request: call('x'.repeat(65_536)),
    contentType: 'application/json',
    response: Buffer.from(result('y'.repeat(65_536))),
    events: 0,
    connections: 32,
  }),
  response64k: () => ({
    name: 'response64k',
    summary: `a ${SMALL_REQUEST.length}-byte tools/call, a 64 KiB JSON result`,
    request: SMALL_REQUEST,
    contentType: 'application/json',
    response: Buffer.from(result('y'.repeat(65_536))),
    events: 0,
    connections: 32,
  }),
  stream10m: () => ({
    name: 'stream10m',
    summary: `a ${SMALL_REQUEST.length}-byte tools/call, a 10 MiB JSON result`,
    request: SMALL_REQUEST,
    contentType: 'application/json',
    response: Buffer.from(result('z'.repeat(10 * 1024 * 1024))),
    events: 0,
    connections: 8,
  }),
  sse100: () => ({
    name: 'sse100',
    summary: `a ${SMALL_REQUEST.length}-byte tools/call, an SSE response of ${SSE_EVENTS} events`,
    request: SMALL_REQUEST,
    contentType: 'text/event-stream',
    response: events(),
    events: SSE_EVENTS,
    connections: 32,
  }),
}

export const WORKLOAD_NAMES = Object.keys(MAKERS)

/** Headers that a client of the protocol version 2025-11-25 sends with each call. */
export const REQUEST_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-session-id': '7d1f0a52-5a3c-4e1b-9c0e-3f7f4f1f7c11',
  'mcp-protocol-version': '2025-11-25',
}

/**
 * Returns the workload of a body: `json-log-64`, `event-log-64` and `request-log-64` have 64 KiB of
 * the shape `log`. Python servers write `isError` into each result; `bare-log-64` is without.
 * @param {string} name
 * @returns {Workload | undefined}
 */
function bodyWorkload(name) {
  const [, kind, shape = '', kib] = /^(json|event|bare|request)-([a-z]+)-(\d+)$/.exec(name) ?? []
  if (kind === undefined) return undefined
  const value = shaped(shape, Number(kib))
  const isRequest = kind === 'request'
  const params = { name: 'echo', arguments: value }
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const ended = kind === 'bare' ? value : { ...value, isError: false }
  const response = JSON.stringify({ jsonrpc: '2.0', id: 1, result: ended })
  const isEvent = kind === 'event'
  return {
    name,
    summary: `${kib} KiB of ${shape} as ${isRequest ? 'arguments' : isEvent ? 'one event' : 'JSON'}`,
    request: isRequest ? JSON.stringify(request) : SMALL_REQUEST,
    contentType: isEvent ? 'text/event-stream' : 'application/json',
    response: isRequest
      ? Buffer.from(SMALL_RESPONSE)
      : Buffer.from(isEvent ? `event: message\ndata: ${response}\n\n` : response),
    events: isEvent ? 1 : 0,
    connections: 16,
  }
}

/** @param {string} name @returns {Workload} */
export function workload(name) {
  const body = bodyWorkload(name)
  if (body !== undefined) return body
  const make = MAKERS[name]
  if (!make) throw new Error(`no workload '${name}'; there are: ${WORKLOAD_NAMES.join(', ')}`)
  return make()
}
