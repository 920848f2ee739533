import { durationText } from '../base/units.ts'
import { after, afterProblems } from './lib/after-parameter.ts'
import { canHaveOffset, fromOffset, type ResponseOffset } from './lib/response-offset.ts'
import { duration, oneOf, section } from './lib/config-schema.ts'
import { CutResponse } from './lib/cut-response.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, Output, ParameterProblem, Verdict } from './fault.ts'
import { offsetOutlook } from './lib/offset-outlook.ts'
import { takesEffect } from './lib/takes-effect.ts'
import * as Type from 'typebox'

/** Long enough for what is out to be read. */
const SETTLING = 20

/** A port that stays shut for longer than this is a listener that is gone. */
const MAX_REFUSE = 3_600_000

/** The end of the client's connection, before or in the middle of the response. */
export const reset = defineFault({
  name: 'reset',
  summary: 'ends the connection that a call came by',
  schema: section(
    {
      at: oneOf(['request', 'response', 'stream', 'connect'], {
        default: 'request',
        description:
          '`request`: the upstream never gets the call. `response`: the upstream executed it, and nothing of its response is sent. `stream`: in the middle of the response, by default before the event with the response. `connect`: with `refuse`, the port is closed, so that new connections get ECONNREFUSED; the call and open connections continue.',
      }),
      after,
      how: oneOf(['rst', 'fin'], {
        default: 'rst',
        description:
          '`rst`: the connection is reset. `fin`: it is closed in order, but before the response is whole.',
      }),
      refuse: Type.Optional(
        duration({
          description:
            'New connections fail as well for this long, at most 1h: every caller is affected, not the call alone. They are reset, and with `at: connect` refused.',
          examples: ['5s'],
        }),
      ),
    },
    { examples: [{ at: 'connect', refuse: '30s' }] },
  ),
  meets:
    'A failed request: `fetch failed` or `terminated` in the TypeScript SDK, while the Python SDK ends its whole client when a connection breaks before the headers. A stream that ends without its response and without event ids leaves the TypeScript SDK waiting for its own timeout; with event ids, clients come back by a GET with `Last-Event-ID`. With `at: response` and `at: stream` the upstream did execute the call. No SDK repeats a call by itself. With `at: connect`, clients with an open connection notice nothing; others report `ECONNREFUSED`.',
  elsewhere:
    'toxiproxy: `reset_peer`; with `after`, `limit_data`. Envoy has no such fault: its `abort` responds with a status. With `at: connect`, what toxiproxy does with `enabled: false`.',
  example: `- name: search-drops
  match: { tool: search }
  percent: 10
  faults:
    - reset: { at: stream, after: { events: 2 } }`,
  check(config) {
    const problems: ParameterProblem[] = [...afterProblems(config, 'stream')]
    if (config.refuse !== undefined && config.refuse > MAX_REFUSE) {
      problems.push({ path: ['refuse'], message: 'longer than 1h' })
    }
    if (config.at === 'connect' && config.refuse === undefined) {
      problems.push({ path: ['at'], message: '`at: connect` goes with `refuse`' })
    }
    return problems
  },
  outlook({ at, after: offset, refuse = 0 }, setting) {
    if (at === 'connect') {
      if (setting.call?.transport === 'stdio') return { cannot: 'no_port' }
      return { by: 'request', does: `new connections are refused for ${durationText(refuse)}` }
    }
    if (at === 'stream')
      return offsetOutlook(offset, setting, 'its connection ends within the response')
    const does = 'its connection ends without a response'
    return { by: at === 'request' ? 'request' : 'beforeResponse', asks: 'reset', does }
  },
  create(config): Fault {
    if (config.at === 'stream') return { onOutput: (ctx, output) => cutting(ctx, output, config) }
    const { how, refuse } = config
    if (config.at === 'connect') return { onRequest: (ctx) => closing(ctx, refuse!) }
    const verdict: Verdict = { kind: 'reset', how, ...(refuse === undefined ? {} : { refuse }) }
    const response = (ctx: FaultContext): Verdict => {
      ctx.injected()
      return verdict
    }
    return config.at === 'request' ? { onRequest: response } : { beforeResponse: response }
  },
})

function closing(ctx: FaultContext, ms: number): Verdict {
  const { closePort } = ctx.host
  if (closePort === undefined) ctx.cannot('no_port')
  else {
    ctx.injected()
    closePort(ms)
  }
  return CONTINUE
}

interface ResetConfig {
  readonly after?: ResponseOffset
  readonly how: 'rst' | 'fin'
  readonly refuse?: number
}

function cutting(
  ctx: FaultContext,
  { head, body }: Output,
  { after: offset, how, refuse }: ResetConfig,
): Output {
  return canHaveOffset(offset, head)
    ? { head, body: fromOffset(body, offset, ctx.call, cut) }
    : { head, body }

  async function* cut(rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    // A reset makes the client's side drop what it has not read yet, so that needs a moment to
    // arrive.
    if (how === 'rst') await ctx.sleep(SETTLING).catch(() => undefined)
    if (takesEffect(ctx)) {
      if (refuse !== undefined) ctx.host.refuseConnections(refuse)
      throw new CutResponse(how)
    }
    yield* rest
  }
}
