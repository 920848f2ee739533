import { counted, durationText } from '../base/units.ts'
import { after, afterProblems } from './lib/after-parameter.ts'
import { canHaveOffset, fromOffset, isEventStream } from './lib/response-offset.ts'
import { headersForChangedBody } from '../http/changed-body-headers.ts'
import { headerValue } from '../http/headers.ts'
import { duration, oneOf, section } from './lib/config-schema.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, Output, ParameterProblem, Verdict } from './fault.ts'
import { isOther } from '../mcp/call.ts'
import { NOTHING } from './lib/outlook.ts'
import { offsetOutlook } from './lib/offset-outlook.ts'
import { takesEffect } from './lib/takes-effect.ts'
import * as Type from 'typebox'
import { ReadAhead } from './lib/read-ahead.ts'

/** The interval at which a silent stream shows that it is alive, as servers usually do. */
const KEEP_ALIVE_EVERY = 15_000

const KEEP_ALIVE = Buffer.from(': keep-alive\n\n')

/** Silence, with or without having got headers; it ends when the client leaves. */
export const hang = defineFault({
  name: 'hang',
  title: 'simulate an unresponsive server',
  summary: 'keeps a call waiting for a response',
  schema: section({
    for: Type.Optional(
      duration({
        description:
          'Resumes the call after this duration, without data loss. Default: hangs until the client disconnects or the rule is removed.',
        examples: ['30s'],
      }),
    ),
    at: oneOf(['request', 'headers', 'event'], {
      default: 'request',
      description:
        '`request`: withholds the call from the upstream. `headers`: forwards the call, but returns only status and headers. `event`: pauses within the response, by default before the response event. With `match.direction: server`, the matched server messages hang instead of the response, except for the first `after.events` of a call.',
    }),
    after,
    keepAlive: Type.Boolean({
      default: false,
      description:
        'Sends a keep-alive comment every 15 s on a hanging stream. Requires `at: headers`, or `at: event` without `after.bytes`.',
    }),
  }),
  clientSees:
    'Clients receive no response until `for` has passed or they time out: the TypeScript SDK after 60 s, the HTTP client of the Python SDK after 300 s. If a client disconnects or cancels before the upstream has received the call, Squall drops the call. With `at: headers` and `at: event`, the upstream executes the call.',
  otherTools:
    'toxiproxy has `timeout` with `timeout: 0`. In Chaos Mesh, set a very long `delay`; in Envoy, set a `fixed_delay` longer than the timeout of every client.',
  example: `- name: search-hangs
  match: { tool: search }
  percent: 5
  faults:
    - hang: { at: event, keepAlive: true, for: 2m }`,
  check(config) {
    const problems: ParameterProblem[] = [...afterProblems(config, 'event')]
    if (config.keepAlive && config.at === 'request') {
      problems.push({
        path: ['keepAlive'],
        message: 'there is no stream to keep alive with `at: request`',
      })
    }
    if (config.keepAlive && config.after?.bytes !== undefined) {
      problems.push({
        path: ['keepAlive'],
        message:
          '`keepAlive` is not allowed with `after.bytes`: a comment within an event would break it',
      })
    }
    return problems
  },
  outlook({ at, after: offset, for: ms }, setting) {
    const { call } = setting
    const isLost = ms === undefined && call?.from === 'server' && call.kind === 'notification'
    const long = ms === undefined ? 'until its client disconnects' : `for ${durationText(ms)}`
    const does = isLost ? 'it is lost' : `hangs ${long}`
    if (at === 'event' && isOther(call)) {
      const { bytes, events = 0 } = offset ?? {}
      if (call?.from !== 'server' || bytes !== undefined) return NOTHING
      const needs =
        events > 0
          ? `${counted(events, 'earlier message')} of the same kind in the call`
          : undefined
      return { by: 'request', does, needs, ...(ms === undefined ? { asks: 'silence' } : {}) }
    }
    if (at === 'headers') return { by: 'output', does: `${does} after the headers` }
    if (at === 'event') return offsetOutlook(offset, setting, `${does} within the response`)
    return { by: 'request', does, ...(ms === undefined ? { asks: 'silence' } : {}) }
  },
  create(config): Fault {
    if (config.at === 'request') return { onRequest: (ctx) => silent(ctx, config.for) }
    const onOutput = (ctx: FaultContext, output: Output): Output => hanging(ctx, output, config)
    if (config.at === 'headers') return { onOutput }
    return { onOutput, onMessage: (ctx) => silentFrom(ctx, config) }
  },
})

type HangConfig = Parameters<typeof hang.create>[0]

async function silent(ctx: FaultContext, ms: number | undefined): Promise<Verdict> {
  ctx.injected()
  if (ms === undefined) return { kind: 'hang' }
  await ctx.sleep(ms)
  return CONTINUE
}

/** Holds a message of the server, and lets the first ones of its call pass. */
function silentFrom(
  ctx: FaultContext,
  { after: offset = {}, for: ms }: HangConfig,
): Verdict | Promise<Verdict> {
  const { bytes, events = 0 } = offset
  if (ctx.call?.from !== 'server' || bytes !== undefined) return CONTINUE
  const counts = ctx.memory(() => new WeakMap<object, number>())
  const passed = counts.get(ctx.group) ?? 0
  if (passed >= events) return silent(ctx, ms)
  counts.set(ctx.group, passed + 1)
  ctx.withinLimit()
  return CONTINUE
}

function hanging(ctx: FaultContext, { head, body }: Output, config: HangConfig): Output {
  const ms = config.for ?? Infinity
  const atHead = config.at === 'headers'
  const offset = atHead ? { bytes: 0 } : config.after
  if (!canHaveOffset(offset, head)) return { head, body }
  // Said before the head is out, so that the head can be marked.
  if (atHead) ctx.injected()
  const keepAlive = config.keepAlive && isEventStream(head)
  const grows = keepAlive && headerValue(head.headers, 'content-length') !== undefined
  return {
    head: grows ? { ...head, headers: headersForChangedBody(head.headers) } : head,
    body: fromOffset(body, offset, ctx.call, (rest) =>
      atHead || takesEffect(ctx) ? silence(ctx, ms, rest, keepAlive) : rest,
    ),
  }
}

/** Nothing for so long, and then the rest; the upstream sends on meanwhile. */
async function* silence(
  ctx: FaultContext,
  ms: number,
  rest: AsyncIterator<Uint8Array>,
  keepAlive: boolean,
): AsyncGenerator<Uint8Array, void> {
  const ahead = new ReadAhead(rest, ({ length }) => length)
  try {
    let over = false
    // Rejects when faults are to stop: what was held back goes on then, too.
    const end = ctx.sleep(ms).then(
      () => (over = true),
      () => (over = true),
    )
    // No tick outlives the silence by much: a fault that sleeps is one that still acts.
    for (let left = keepAlive ? ms : 0; left > KEEP_ALIVE_EVERY; left -= KEEP_ALIVE_EVERY) {
      await Promise.race([end, ctx.sleep(KEEP_ALIVE_EVERY).catch(() => undefined)])
      if (over) break
      yield KEEP_ALIVE
    }
    await end
    yield* ahead
  } finally {
    await ahead.return()
  }
}
