// Runs a load on an MCP server with k6: each virtual user opens a session and calls a tool.
//   k6 run -e TARGET=http://localhost:3000/mcp -e TOOL=get_weather -e ARGS='{"city":"Oslo"}' load.js
// With -e PROTOCOL=2026-07-28, it calls the tool without a session.
// For teams that use k6; squall load also supports schemas, expectations, retries and shards.
import { check } from 'k6'
import http from 'k6/http'
import { Counter, Rate, Trend } from 'k6/metrics'
import { headerOf, isInjected, messagesOf, outcomeOf, responseTo } from './responses.js'
import * as sessions from './sessions.js'
import * as stateless from './stateless.js'
import { counts, judge, thresholds } from './verdict.js'

const TARGET = __ENV.TARGET || 'http://localhost:3000/mcp'
const TOOL = __ENV.TOOL || 'get_weather'
const ARGUMENTS = JSON.parse(__ENV.ARGS || '{"city":"Oslo"}')
const CALLS = Number(__ENV.CALLS || 20)
const PROTOCOL = __ENV.PROTOCOL || sessions.VERSION
const protocol = { [sessions.VERSION]: sessions, [stateless.VERSION]: stateless }[PROTOCOL]
if (protocol === undefined) {
  throw new Error(`PROTOCOL must be ${sessions.VERSION} or ${stateless.VERSION}; got ${PROTOCOL}`)
}

const responded = new Rate('mcp_responded')
const duration = new Trend('mcp_call_duration', true)
const outcomes = new Counter('mcp_outcomes')
// Counts errors with Squall's marker separately from server errors.
const injected = new Rate('mcp_injected')

export const options = {
  scenarios: {
    calls: {
      executor: 'ramping-vus',
      startVUs: 1,
      stages: [
        { duration: __ENV.RAMP || '10s', target: Number(__ENV.VUS || 20) },
        { duration: __ENV.DURATION || '1m', target: Number(__ENV.VUS || 20) },
      ],
    },
  },
  thresholds: {
    mcp_responded: [`rate>=${__ENV.MIN_RESPONDED || 0.95}`],
    mcp_call_duration: ['p(99)<2000'],
    ...(protocol === sessions ? { checks: ['rate>0.99'] } : {}),
    ...thresholds,
  },
}

/** Runs once, before the virtual users start. */
export function setup() {
  return counts()
}

/** Runs once, after the virtual users end. */
export function teardown(before) {
  judge(before)
}

export default function user() {
  const opened = protocol === sessions ? open() : {}
  if (opened === undefined) return
  const { session } = opened
  for (let id = 1; id <= CALLS; id++) callTool(session, id)
  if (session !== undefined) http.del(TARGET, null, { headers: sessions.headersFor(session) })
}

/** Opens a session; returns an empty result for a server without sessions, undefined on failure. */
function open() {
  const params = {
    protocolVersion: sessions.VERSION,
    capabilities: {},
    clientInfo: { name: 'k6', version: '1.0.0' },
  }
  const response = post('initialize', params, { id: 0 })
  const isOpen = check(messageOf(response, 0), {
    'the session is open': (each) => each !== undefined && each.result !== undefined,
  })
  if (!isOpen) return undefined
  const session = headerOf(response.headers, 'mcp-session-id')
  post('notifications/initialized', undefined, { session })
  return { session }
}

function callTool(session, id) {
  const response = post('tools/call', { name: TOOL, arguments: ARGUMENTS }, { id, session })
  const outcome = outcomeOf(response.status, messageOf(response, id))
  responded.add(outcome === 'ok', { tool: TOOL })
  duration.add(response.timings.duration, { tool: TOOL })
  outcomes.add(1, { tool: TOOL, outcome })
  injected.add(isInjected(response.headers, response.body), { tool: TOOL })
}

function post(method, params, context) {
  const { headers, body } = protocol.request(method, params, context)
  const name = method === 'tools/call' ? `${method} ${TOOL}` : method
  return http.post(TARGET, body, { headers, tags: { name }, timeout: '30s' })
}

function messageOf(response, id) {
  return responseTo(id, messagesOf(headerOf(response.headers, 'content-type'), response.body))
}
