import { durationText } from '../base/units.ts'
import { LruMap } from '../base/lru-map.ts'
import { isModern } from '../mcp/protocol-version.ts'
import { duration, oneOf, section } from './lib/config-schema.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, InjectedReply, ParameterProblem, Verdict } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import { httpDate } from '../http/http-date.ts'
import { TokenBucket } from './lib/token-bucket.ts'
import * as Type from 'typebox'
import { digest } from '../base/digest.ts'

/** With more callers, the least recently seen one is forgotten. */
const MAX_BUCKETS = 10_000

/** The code that most servers send; protocol version 2026-07-28 reserves this range. */
const RPC_CODE = -32029
const MODERN_RPC_CODE = 429

/** Too many requests: always, or beyond a real limit. */
export const rateLimit = defineFault({
  name: 'rateLimit',
  summary: 'rejects calls as too many',
  meets:
    'Status 429 with `Retry-After` and a short JSON body, or the JSON-RPC error -32029 with `data: { retryAfter: <seconds> }` (429 from protocol version 2026-07-28 on, which keeps -32029 for itself). The upstream never gets the call. With `limit` the calls within it pass and are counted as within the limit; `Retry-After` then is the time until the next one is let through. The SDKs neither wait nor try again by themselves.',
  elsewhere:
    "Envoy and Istio: the local rate limit filter's `token_bucket { max_tokens, tokens_per_fill, fill_interval }`, which are `burst`, `calls` and `per` here. Chaos Mesh: `HTTPChaos` with `replace: { code: 429 }`. toxiproxy has no such thing: its `bandwidth` slows bytes down.",
  example: `- name: busy-search
  match: { tool: search }
  faults:
    - rateLimit: { limit: { calls: 10, per: 1m, burst: 3 }, by: session }`,
  schema: section({
    retryAfter: duration({
      default: '1s',
      description: 'Without `limit`: when to come back; whole seconds, rounded up.',
    }),
    retryAfterAs: oneOf(['seconds', 'date'], {
      default: 'seconds',
      description: 'How `Retry-After` is written.',
    }),
    limit: Type.Optional(
      section(
        {
          calls: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'So many calls.' }),
          per: duration({ description: 'In this time, evenly spread.', examples: ['1m'] }),
          burst: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1_000_000,
              description: 'So many at once; as many as `calls` unless given.',
            }),
          ),
        },
        {
          description: 'A token bucket: what is within it passes. Without it no call passes.',
          examples: [{ calls: 10, per: '1m', burst: 3 }],
        },
      ),
    ),
    by: Type.Unsafe<CallerKind>({
      anyOf: [
        { type: 'string', enum: ['all', 'session', 'client', 'tool'] },
        section({
          header: Type.String({ minLength: 1, maxLength: 256, description: "The header's name." }),
        }),
      ],
      default: 'all',
      description:
        'With `limit`: what has a bucket of its own, such as each session. Calls that do not say share one.',
    }),
    as: oneOf(['http', 'rpc'], {
      default: 'http',
      description: '`http`: status 429. `rpc`: a JSON-RPC error.',
    }),
    message: Type.String({
      default: 'Too many requests',
      maxLength: 4096,
      description: 'What the response says.',
    }),
  }),
  check({ limit, by, as, retryAfterAs }) {
    const problems: ParameterProblem[] = []
    if (limit === undefined && by !== 'all') {
      problems.push({ path: ['by'], message: '`by` goes with `limit` only' })
    }
    if (limit !== undefined && limit.per < 1) {
      problems.push({ path: ['limit', 'per'], message: '`per` has to be 1ms or longer' })
    }
    if (as === 'rpc' && retryAfterAs === 'date') {
      const message = 'there is no header with `as: rpc`; its `data.retryAfter` is in seconds'
      problems.push({ path: ['retryAfterAs'], message })
    }
    return problems
  },
  outlook({ limit, as }, { call }) {
    const needs = limit && `more than ${limit.calls} calls in ${durationText(limit.per)}`
    if (as === 'http') {
      return { by: 'request', asks: 'status', does: 'responds with status 429', needs }
    }
    const does = 'responds with a JSON-RPC error'
    return call === undefined ? NOTHING : { by: 'request', asks: 'message', does, needs }
  },
  create(config): Fault {
    const { limit, by, as, message, retryAfterAs } = config
    const rate = limit && { ...limit, burst: limit.burst ?? limit.calls }
    const untilNext = (ctx: FaultContext): number => {
      if (rate === undefined) return config.retryAfter
      const buckets = ctx.memory(() => new LruMap<TokenBucket>(MAX_BUCKETS))
      const key = callerKey(by, ctx)
      let bucket = buckets.get(key)
      if (bucket === undefined) {
        bucket = new TokenBucket(rate, ctx.now())
        buckets.set(key, bucket)
      }
      return bucket.take(ctx.now())
    }
    const replyOf = (ctx: FaultContext, ms: number): InjectedReply => {
      const seconds = Math.ceil(ms / 1000)
      if (as === 'rpc') {
        const code = isModern(ctx.call?.protocolVersion) ? MODERN_RPC_CODE : RPC_CODE
        return { kind: 'rpcError', code, message, data: { retryAfter: seconds } }
      }
      const isDate = retryAfterAs === 'date'
      const retry = isDate ? httpDate(Math.ceil((ctx.now() + ms) / 1000) * 1000) : String(seconds)
      const headers = { 'Retry-After': retry, 'Content-Type': 'application/json' }
      const body = JSON.stringify({ error: 'too_many_requests', message })
      return { kind: 'http', status: 429, body, headers }
    }
    return {
      onRequest(ctx): Verdict {
        if (as === 'rpc' && ctx.call === undefined) return CONTINUE
        const ms = untilNext(ctx)
        if (rate !== undefined && ms === 0) {
          ctx.withinLimit()
          return CONTINUE
        }
        ctx.injected()
        return { kind: 'respond', reply: replyOf(ctx, ms) }
      },
    }
  },
})

/** Selects the key by which calls are counted. */
type CallerKind = 'all' | 'session' | 'client' | 'tool' | { readonly header: string }

/**
 * Returns the key that identifies the caller of a call; anonymous callers share one.
 * It is a digest: callers choose the text, which may be long or a secret, and many are remembered.
 */
function callerKey(by: CallerKind, ctx: FaultContext): string {
  const text = textOf(by, ctx)
  return text === undefined ? '' : digest(text)
}

function textOf(by: CallerKind, ctx: FaultContext): string | undefined {
  if (typeof by === 'object') return ctx.header(by.header.toLowerCase())
  if (by === 'session') return ctx.session
  if (by === 'client') return ctx.client?.name
  return by === 'tool' && ctx.call !== undefined
    ? `${ctx.call.method} ${ctx.call.name ?? ''}`
    : undefined
}
