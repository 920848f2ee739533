import { isRecord } from '../base/values.ts'
import { canonicalJson } from '../base/json/canonical-json.ts'
import type { Message } from '../mcp/json-rpc.ts'
import { isModern } from '../mcp/protocol-version.ts'
import { audience } from './lib/audience.ts'
import { duration, oneOf, section } from './lib/config-schema.ts'
import { defineFault, type Fault, type FaultContext, type Frame } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import { frameText, withText } from './lib/json/frame-json.ts'
import { KeptResponses } from './lib/kept-responses.ts'
import { changingLast } from './lib/json/json-part.ts'
import { idText, withId } from './lib/json/message-id.ts'
import { isOther } from '../mcp/call.ts'
import * as Type from 'typebox'

/** Staleness: the upstream responds, and the client gets an earlier response. */
export const replay = defineFault({
  name: 'replay',
  summary: 'responds with an earlier response',
  meets:
    'A response that is well formed and out of date: that of an earlier call of the same tool, with the id of this one. The upstream does execute the call, and its response is kept for later ones. Only calls that the rule samples are kept and replaced, so that the first of them gets its own response; so do failed ones, and those whose earlier response was the same. Such calls are counted as within the limit. Responses with `Cache-Control: no-store` or `Vary: *` are not kept, those with `private` only for their caller, and the headers that `Vary` names have to be the same. Where nothing says who the caller is, `by: caller` does nothing, and says so as `no_caller`.',
  elsewhere:
    'Envoy and Istio: nearest is a cache filter that does not send the request on. Chaos Mesh: `HTTPChaos` with `replace: { body: … }` responds with one fixed body. toxiproxy has nothing like it.',
  example: `- name: stale-weather
  match: { tool: get_weather }
  faults:
    - replay: { age: 10m, sameArguments: true }`,
  schema: section({
    age: duration({
      default: '0s',
      description:
        'How old the response is at least: the newest such one is taken, in steps of a sixteenth of this.',
      examples: ['10m'],
    }),
    sameArguments: Type.Boolean({
      default: false,
      description:
        'Only responses to the same arguments. Otherwise any of the same tool, or of the same method where it is about no tool.',
    }),
    by: oneOf(['caller', 'all'], {
      default: 'caller',
      description:
        '`caller`: only responses to the same caller: session, `Authorization`, `Cookie`, API keys, forwarded client certificates, the target and all other headers that say more than how to send, read or trace a request are the same. `all`: also what others were: one user may then see what belongs to another.',
    }),
  }),
  outlook({ by }, { call, identified }) {
    if (call === undefined || isOther(call)) return NOTHING
    if (by === 'caller' && !identified) return { cannot: 'no_caller' }
    const does = 'responds as to an earlier call'
    return { by: 'response', does, needs: 'an earlier response' }
  },
  create({ age, sameArguments, by }): Fault {
    const replayed = (ctx: FaultContext, frame: Frame): Frame | undefined => {
      const about = aboutOf(ctx, sameArguments)
      if (about === undefined) return undefined
      const text = isPlainResult(frame.message) ? frameText(frame) : undefined
      const id = text === undefined ? undefined : idText(text)
      if (text === undefined || id === undefined) {
        // A failed response is left as it is on purpose: a fault must not hide what is wrong.
        ctx.withinLimit()
        return undefined
      }
      const { key, cannot } = audience(ctx, by, about)
      if (key === undefined) {
        ctx.cannot(cannot)
        return undefined
      }
      const responses = ctx.memory(() => new KeptResponses(age, ctx.keeping))
      const older = responses.older(key, ctx.now())
      responses.add(key, text, ctx.now())
      const stale = older === undefined ? undefined : withId(older, id)
      if (stale === undefined || stale === text) {
        ctx.withinLimit()
        return undefined
      }
      ctx.injected()
      return withText(frame, stale)
    }
    return { changes: true, ...changingLast(replayed) }
  },
})

/** The key of earlier responses to the same call; undefined where there is no call. */
function aboutOf({ call }: FaultContext, withArguments: boolean): readonly unknown[] | undefined {
  if (call === undefined || isOther(call)) return undefined
  const parts = [call.method, call.name ?? null, isModern(call.protocolVersion)]
  return withArguments ? [...parts, canonicalJson(argumentsOf(call.params))] : parts
}

/** All that is asked for, less what differs from call to call. */
function argumentsOf(params: unknown): unknown {
  if (!isRecord(params)) return params
  const { _meta: _, ...rest } = params
  return rest
}

/**
 * A result that is whole by itself: no failure, no question back to the client, no task to poll.
 */
function isPlainResult(message: Message | undefined): boolean {
  if (message?.kind !== 'result' || !isRecord(message.result)) return false
  const { isError, resultType = 'complete', task } = message.result
  return isError !== true && resultType === 'complete' && task === undefined
}
