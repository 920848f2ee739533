// A load on an MCP server with k6: each virtual user opens a session and calls tools in it.
//   k6 run -e TARGET=http://localhost:3000/mcp -e TOOL=get_weather -e ARGS='{"city":"Oslo"}' load.js
// squall load also covers schemas, expectations, retries and shards; this script is for users of k6.
import { check } from 'k6'
import http from 'k6/http'
import { Counter, Rate, Trend } from 'k6/metrics'
import {
  answerTo,
  headerOf,
  headersFor,
  isInjected,
  message,
  messagesOf,
  outcomeOf,
  REVISION,
} from './mcp.js'

const TARGET = __ENV.TARGET || 'http://localhost:3000/mcp'
const TOOL = __ENV.TOOL || 'get_weather'
const ARGUMENTS = JSON.parse(__ENV.ARGS || '{"city":"Oslo"}')
const CALLS = Number(__ENV.CALLS || 20)

const responded = new Rate('mcp_responded')
const duration = new Trend('mcp_call_duration', true)
const outcomes = new Counter('mcp_outcomes')
// Squall marks injected errors, so that they do not count as errors of the server.
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
    mcp_responded: ['rate>0.95'],
    mcp_call_duration: ['p(99)<2000'],
    checks: ['rate>0.99'],
  },
}

export default function session() {
  const id = open()
  if (id === undefined) return
  for (let call = 1; call <= CALLS; call++) callTool(id.session, call)
  if (id.session !== undefined) http.del(TARGET, null, { headers: headersFor(id.session) })
}

/** Opens a session; a server may have none, and then its response has no session id. */
function open() {
  const about = {
    protocolVersion: REVISION,
    capabilities: {},
    clientInfo: { name: 'k6', version: '1.0.0' },
  }
  const response = post(message('initialize', about, 0), undefined, 'initialize')
  const answer = answerOf(response, 0)
  const isOpen = check(answer, {
    'the session is open': (each) => each !== undefined && each.result !== undefined,
  })
  if (!isOpen) return undefined
  const sessionId = headerOf(response.headers, 'mcp-session-id')
  post(message('notifications/initialized'), sessionId, 'notifications/initialized')
  return { session: sessionId }
}

function callTool(sessionId, id) {
  const body = message('tools/call', { name: TOOL, arguments: ARGUMENTS }, id)
  const response = post(body, sessionId, `tools/call ${TOOL}`)
  const outcome = outcomeOf(response.status, answerOf(response, id))
  responded.add(outcome === 'ok', { tool: TOOL })
  duration.add(response.timings.duration, { tool: TOOL })
  outcomes.add(1, { tool: TOOL, outcome })
  injected.add(isInjected(response.headers, response.body), { tool: TOOL })
}

function post(body, sessionId, name) {
  return http.post(TARGET, body, { headers: headersFor(sessionId), tags: { name }, timeout: '30s' })
}

function answerOf(response, id) {
  return answerTo(id, messagesOf(headerOf(response.headers, 'content-type'), response.body))
}
