import { isOther, type Call } from '../mcp/call.ts'
import { mapOf, oneOf, section } from './lib/config-schema.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, InjectedReply, ParameterProblem, Verdict } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import { headerProblem } from '../http/header-text.ts'
import * as Type from 'typebox'

/** An error in place of the response: of HTTP, of JSON-RPC, or of the tool. */
export const abort = defineFault({
  name: 'abort',
  title: 'inject HTTP, JSON-RPC and tool errors',
  summary: 'responds to a call with an HTTP, JSON-RPC or tool error',
  clientSees:
    'The TypeScript SDKs report an error `status` as a transport error and `rpcError` as a protocol error; the Python SDK raises `MCPError` for both. `toolError` is a tool result that the model can read. The error carries the ID of the call, and is sent as JSON or as an SSE event in the format of the protocol version. In a batch, `rpcError` and `toolError` replace only the response to the selected call. With `at: response`, the upstream has executed the call, and `status` has no effect on a stream that has already sent a message.',
  otherTools:
    'Envoy has `abort` with `http_status`, Istio has `httpStatus`, and Chaos Mesh has `replace.code`. toxiproxy has no equivalent, because it does not support HTTP.',
  example: `- name: flaky-db
  match: { tool: [query_db, list_tables] }
  first: 2
  faults:
    - abort: { toolError: "connection to db-7 lost" }`,
  schema: section({
    status: Type.Optional(
      Type.Integer({
        minimum: 200,
        maximum: 599,
        description: 'Responds with this HTTP status.',
        examples: [503],
      }),
    ),
    body: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description: 'With `status`: sets the body. Default: a short text with the status.',
      }),
    ),
    headers: Type.Optional(
      mapOf(Type.String({ maxLength: 4096 }), {
        maxProperties: 50,
        description: 'With `status`: adds these response headers.',
        examples: [{ 'content-type': 'text/html' }],
      }),
    ),
    rpcError: Type.Optional(
      section(
        {
          code: Type.Integer({
            default: -32603,
            minimum: -2147483648,
            maximum: 2147483647,
            description: 'Sets the error code.',
          }),
          message: Type.String({
            default: 'Internal error',
            maxLength: 4096,
            description: 'Sets the error message.',
          }),
          data: Type.Optional(Type.Unknown({ description: 'Sets the error `data`.' })),
        },
        {
          description: 'Responds with a JSON-RPC error.',
          examples: [{ code: -32603, message: 'db-7 is gone' }],
        },
      ),
    ),
    toolError: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description:
          'Responds with a tool result with `isError: true` and this text. Applies only to `tools/call` and `tasks/result`.',
        examples: ['connection to db-7 lost'],
      }),
    ),
    at: oneOf(['request', 'response'], {
      default: 'request',
      description:
        '`request`: responds instead of the upstream. `response`: responds after the upstream has executed the call.',
    }),
  }),
  oneOf: ['status', 'rpcError', 'toolError'],
  goesWith: { body: 'status', headers: 'status' },
  check(config) {
    const problems: ParameterProblem[] = []
    for (const [name, value] of Object.entries(config.headers ?? {})) {
      const message = headerProblem(name, value)
      if (message !== undefined) problems.push({ path: ['headers', name], message })
    }
    return problems
  },
  outlook({ at, status, rpcError }, { call }) {
    const by = at === 'request' ? 'request' : 'beforeResponse'
    if (status !== undefined) return { by, asks: 'status', does: `responds with status ${status}` }
    const isAbout = call !== undefined && (rpcError !== undefined || hasToolResult(call))
    const does = rpcError ? `responds with error ${rpcError.code}` : 'responds with a tool error'
    return isAbout ? { by, asks: 'message', does } : NOTHING
  },
  create(config): Fault {
    const reply = replyOf(config)
    const effect = effectOf(reply)
    const response = (ctx: FaultContext): Verdict => {
      if (reply.kind === 'toolError' && !hasToolResult(ctx.call)) return CONTINUE
      if (reply.kind === 'rpcError' && ctx.call === undefined) return CONTINUE
      ctx.injected(effect)
      return { kind: 'respond', reply }
    }
    return config.at === 'request' ? { onRequest: response } : { beforeResponse: response }
  },
})

/** Returns true for a call whose response is the result of a tool. */
function hasToolResult(call: Call | undefined): boolean {
  if (call === undefined || isOther(call)) return false
  return call.method === 'tools/call' || call.method === 'tasks/result'
}

/** Names the reply by its key in rules. */
function effectOf(reply: InjectedReply): string {
  if (reply.kind === 'http') return `status ${reply.status}`
  return reply.kind === 'rpcError' ? `rpcError ${reply.code}` : 'toolError'
}

type AbortConfig = Parameters<typeof abort.create>[0]

function replyOf(config: AbortConfig): InjectedReply {
  const { status, body, headers = {}, rpcError } = config
  if (status !== undefined) return { kind: 'http', status, body, headers }
  if (rpcError !== undefined) return { kind: 'rpcError', ...rpcError }
  return { kind: 'toolError', text: config.toolError ?? '' }
}
