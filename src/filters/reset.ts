import { durationText } from '../base/units.ts'
import { after, afterProblems } from './lib/after-parameter.ts'
import { canHaveOffset, fromOffset } from './lib/response-offset.ts'
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
  title: 'close connections',
  summary: 'closes the connection of a call, or refuses new connections',
  schema: section(
    {
      at: oneOf(['request', 'response', 'stream', 'connect'], {
        default: 'request',
        description:
          '`request`: closes the connection before the upstream receives the call. `response`: closes it after the upstream has executed the call, before the response. `stream`: closes it within the response, by default before the response event. `connect`: closes the port for the `refuse` duration, so new connections fail with ECONNREFUSED; open connections and the call continue.',
      }),
      after,
      how: oneOf(['rst', 'fin'], {
        default: 'rst',
        description:
          '`rst`: resets the connection. `fin`: closes it cleanly, without a complete response.',
      }),
      refuse: Type.Optional(
        duration({
          description:
            'Resets all new connections for this duration, at most 1h. With `at: connect`: refuses them.',
          examples: ['5s'],
        }),
      ),
    },
    { examples: [{ at: 'connect', refuse: '30s' }] },
  ),
  clientSees:
    'The request fails, for example with `fetch failed` or `terminated` in the TypeScript SDK. The Python client terminates if a connection breaks before the headers or within a JSON body. If a stream ends without the response, clients resume the stream with a GET and `Last-Event-ID`, provided that its events have IDs; otherwise the TypeScript SDK waits until it times out. With `at: response`, and with `at: stream` without `after`, the upstream has executed the call; with `after`, it may still be executing it. No SDK retries by itself. With `at: connect`, clients with an open connection notice nothing; other clients report `ECONNREFUSED`.',
  otherTools:
    'toxiproxy has `reset_peer`, `limit_data` (like `after`) and `enabled: false` (like `at: connect`). Envoy has no equivalent: its `abort` responds with a status.',
  example: `- name: search-drops
  match: { tool: search }
  percent: 10
  faults:
    - reset: { at: stream, after: { events: 2 } }`,
  check(config) {
    const problems: ParameterProblem[] = [...afterProblems(config, 'stream')]
    if (config.refuse !== undefined && config.refuse > MAX_REFUSE) {
      problems.push({ path: ['refuse'], message: 'must be at most 1h' })
    }
    if (config.at === 'connect' && config.refuse === undefined) {
      problems.push({ path: ['at'], message: '`at: connect` requires `refuse`' })
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

type ResetConfig = Parameters<typeof reset.create>[0]

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
