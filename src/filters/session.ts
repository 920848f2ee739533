import type { Call } from '../mcp/call.ts'
import { errorReply, isExactId } from '../mcp/reply.ts'
import { isModern } from '../mcp/protocol-version.ts'
import { section } from './lib/config-schema.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, ParameterProblem, Verdict } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import * as Type from 'typebox'

/** A session that the server has lost, and a server that is not back yet. */
export const session = defineFault({
  name: 'session',
  title: 'expire MCP sessions',
  summary: 'ends the MCP session that a call belongs to',
  clientSees:
    'While the rule is active, the sampled call and all later requests in its session receive status 404 with the JSON-RPC error -32001. Streams that the client opened with GET are closed; responses to earlier calls still arrive, except over HTTP+SSE. The MCP specification requires clients to send a new `initialize` request, but SDKs leave this to the application. With `rejectInitialize`, that request fails too, as if the server were still starting. The fault has no effect on stdio or with protocol version 2026-07-28, because neither has session IDs.',
  otherTools:
    'Chaos Mesh has `PodChaos` with `action: pod-kill`, which ends all sessions of a pod. Envoy, Istio and toxiproxy have no equivalent; in Istio, `abort.httpStatus: 404` comes closest.',
  example: `- name: restarted-server
  match: { method: [tools/call, initialize], client: { name: "inspector*" } }
  faults:
    - session: { rejectInitialize: { times: 2, status: 503 } }`,
  schema: section({
    expire: Type.Boolean({
      default: true,
      description:
        'Ends the session of a sampled call while the rule is active. `false`: only `rejectInitialize` acts.',
    }),
    rejectInitialize: Type.Optional(
      section(
        {
          times: Type.Integer({
            default: 1,
            minimum: 1,
            maximum: 1_000_000,
            description: 'Rejects this many `initialize` requests. Later ones pass.',
          }),
          status: Type.Integer({
            default: 503,
            minimum: 400,
            maximum: 599,
            description: 'Responds with this HTTP status.',
          }),
        },
        {
          description:
            'Also rejects `initialize` requests. The rule must match that method, as in `match: { method: [tools/call, initialize] }`.',
          examples: [{ times: 2, status: 503 }],
        },
      ),
    ),
  }),
  check({ expire, rejectInitialize }) {
    const problems: ParameterProblem[] = []
    if (!expire && rejectInitialize === undefined) {
      problems.push({ path: ['expire'], message: '`expire: false` requires `rejectInitialize`' })
    }
    return problems
  },
  outlook({ expire, rejectInitialize: rejected }, { call, session: id }) {
    if (rejected !== undefined && call?.method === 'initialize') {
      return { by: 'request', asks: 'status', does: `responds with status ${rejected.status}` }
    }
    if (!expire || id === undefined || isModern(call?.protocolVersion)) return NOTHING
    return { by: 'request', asks: 'status for all', does: 'its session ends, with status 404' }
  },
  create({ expire, rejectInitialize }): Fault {
    const reject = (ctx: FaultContext, times: number, status: number): Verdict => {
      const rejected = ctx.memory(() => ({ count: 0 }))
      if (rejected.count >= times) {
        ctx.withinLimit()
        return CONTINUE
      }
      ctx.injected('reject')
      rejected.count++
      return { kind: 'respond', reply: { kind: 'http', status, body: undefined, headers: {} } }
    }
    return {
      onRequest(ctx): Verdict {
        if (rejectInitialize !== undefined && ctx.call?.method === 'initialize') {
          return reject(ctx, rejectInitialize.times, rejectInitialize.status)
        }
        // Protocol version 2026-07-28 has no sessions, whatever a header says.
        const isSessionless = ctx.session === undefined || isModern(ctx.call?.protocolVersion)
        if (!expire || isSessionless) return CONTINUE
        ctx.injected('expire')
        const body = notFound(ctx.call)
        const headers = { 'Content-Type': 'application/json' }
        return {
          kind: 'respond',
          reply: { kind: 'http', status: 404, body, headers, forAll: true },
          endsSession: true,
        }
      },
    }
  },
})

/** Returns the usual response of servers to an unknown session. */
function notFound(call: Call | undefined): string {
  const id = isExactId(call?.id) ? call.id : null
  return JSON.stringify(errorReply({ id, code: -32001, message: 'Session not found' }))
}
