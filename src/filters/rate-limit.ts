import { counted, durationText } from '../base/units.ts'
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
  title: 'return HTTP 429 Too Many Requests',
  summary: 'rejects calls with a rate-limit error (HTTP 429 by default)',
  clientSees:
    'Clients receive status 429 with `Retry-After` and a short JSON body. With `as: rpc`, they receive the JSON-RPC error -32029 with `data: { retryAfter: <seconds> }`. From protocol version 2026-07-28 on, -32029 is reserved, so the error code is 429. The upstream does not receive the call. With `limit`, calls within the limit pass (counted as `within_limit`), and `Retry-After` is the time until the next token. SDKs neither wait nor retry by themselves.',
  otherTools:
    'Envoy and Istio have a local rate limit filter with a `token_bucket`: its `max_tokens` corresponds to `burst`, `tokens_per_fill` to `calls`, and `fill_interval` to `per`. Chaos Mesh has `HTTPChaos` with `replace: { code: 429 }`. toxiproxy has no equivalent: its `bandwidth` limits bytes, not calls.',
  example: `- name: busy-search
  match: { tool: search }
  faults:
    - rateLimit: { limit: { calls: 10, per: 1m, burst: 3 }, by: session }`,
  schema: section({
    retryAfter: duration({
      default: '1s',
      description:
        'Without `limit`: sets `Retry-After` or, with `as: rpc`, `data.retryAfter`, rounded up to seconds.',
    }),
    retryAfterAs: oneOf(['seconds', 'date'], {
      default: 'seconds',
      description: 'Sets the format of `Retry-After`.',
    }),
    limit: Type.Optional(
      section(
        {
          calls: Type.Integer({
            minimum: 1,
            maximum: 1_000_000,
            description: 'Sets the number of calls allowed within `per`.',
          }),
          per: duration({
            description:
              'Refills the bucket with `calls` tokens in this period, at a constant rate.',
            examples: ['1m'],
          }),
          burst: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1_000_000,
              description: 'Sets the bucket size. Default: `calls`.',
            }),
          ),
        },
        {
          description:
            'Rejects calls only while the token bucket is empty. Default: rejects all sampled calls.',
          examples: [{ calls: 10, per: '1m', burst: 3 }],
        },
      ),
    ),
    by: Type.Unsafe<CallerKind>({
      anyOf: [
        { type: 'string', enum: ['all', 'session', 'client', 'tool'] },
        section({
          header: Type.String({
            minLength: 1,
            maxLength: 256,
            description: 'Uses a separate bucket for each value of this request header.',
          }),
        }),
      ],
      default: 'all',
      description:
        'With `limit`: uses a separate bucket for each value, such as each session. Calls without the value share a bucket.',
    }),
    as: oneOf(['http', 'rpc'], {
      default: 'http',
      description: '`http`: responds with status 429. `rpc`: responds with a JSON-RPC error.',
    }),
    message: Type.String({
      default: 'Too many requests',
      maxLength: 4096,
      description: 'Sets the message text in the response.',
    }),
  }),
  check({ limit, by, as, retryAfterAs }) {
    const problems: ParameterProblem[] = []
    if (limit === undefined && by !== 'all') {
      problems.push({ path: ['by'], message: '`by` requires `limit`' })
    }
    if (limit !== undefined && limit.per < 1) {
      problems.push({ path: ['limit', 'per'], message: '`per` must be at least 1ms' })
    }
    if (as === 'rpc' && retryAfterAs === 'date') {
      const message = 'there is no header with `as: rpc`; `data.retryAfter` is in seconds'
      problems.push({ path: ['retryAfterAs'], message })
    }
    return problems
  },
  outlook({ limit, as }, { call }) {
    const needs = limit && `more than ${counted(limit.calls, 'call')} in ${durationText(limit.per)}`
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
