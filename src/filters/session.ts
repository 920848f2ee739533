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
  summary: 'loses the session of a call',
  meets:
    'Status 404 with the JSON-RPC error -32001 for the call that was sampled and, until the rule is taken back, for everything else that names the session; its open streams end. A client has to send `initialize` again, which the specification asks for and the SDKs leave to the application. With `rejectInitialize` it meets a status there as well, as with a server that is still starting. Protocol version 2026-07-28 has no sessions: nothing is done there.',
  elsewhere:
    'Chaos Mesh: `PodChaos` with `action: pod-kill` loses all sessions of a pod at once. Envoy, Istio and toxiproxy know nothing of sessions; `abort.httpStatus: 404` comes nearest.',
  example: `- name: restarted-server
  match: { method: [tools/call, initialize], client: { name: "inspector*" } }
  faults:
    - session: { rejectInitialize: { times: 2, status: 503 } }`,
  schema: section({
    expire: Type.Boolean({
      default: true,
      description:
        'The session of a sampled call is gone, and stays so. `false`: nothing but `rejectInitialize`.',
    }),
    rejectInitialize: Type.Optional(
      section(
        {
          times: Type.Integer({
            default: 1,
            minimum: 1,
            maximum: 1_000_000,
            description: 'So many of them in all; those after it pass.',
          }),
          status: Type.Integer({
            default: 503,
            minimum: 400,
            maximum: 599,
            description: 'The response to them.',
          }),
        },
        {
          description:
            'Rejects `initialize` as well. The rule has to name that method to be asked: `match: { method: [tools/call, initialize] }`.',
          examples: [{ times: 2, status: 503 }],
        },
      ),
    ),
  }),
  check({ expire, rejectInitialize }) {
    const problems: ParameterProblem[] = []
    if (!expire && rejectInitialize === undefined) {
      problems.push({
        path: ['expire'],
        message: 'without `rejectInitialize` nothing is left to do',
      })
    }
    return problems
  },
  outlook({ expire, rejectInitialize: rejected }, { call, session: id }) {
    if (rejected !== undefined && call?.method === 'initialize') {
      return { by: 'request', asks: 'status', does: `responds with status ${rejected.status}` }
    }
    if (!expire || id === undefined || isModern(call?.protocolVersion)) return NOTHING
    return { by: 'request', asks: 'status for all', does: 'its session is gone, with status 404' }
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

/** As servers say it that know nothing of a session. */
function notFound(call: Call | undefined): string {
  const id = isExactId(call?.id) ? call.id : null
  return JSON.stringify(errorReply({ id, code: -32001, message: 'Session not found' }))
}
