import { audience } from './lib/audience.ts'
import { duration, oneOf, section } from './lib/config-schema.ts'
import { defineFault, type Fault, type FaultContext, type Frame } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import { frameText, withText } from './lib/json/frame-json.ts'
import { aboutOf, isPlainResult } from './lib/kept-calls.ts'
import { StoredResponses } from './lib/stored-responses.ts'
import { changingLast } from './lib/json/json-part.ts'
import { idText, withId } from './lib/json/message-id.ts'
import { isOther } from '../mcp/call.ts'
import * as Type from 'typebox'

/** Staleness: the upstream responds, and the client gets an earlier response. */
export const replay = defineFault({
  name: 'replay',
  title: 'return stale responses',
  summary: 'returns the stored response to an earlier call',
  clientSees:
    'Clients receive a valid but outdated response from an earlier call. The upstream still executes the call, and Squall stores the new response for later calls. Squall stores and replaces only responses to sampled calls. A call passes (counted as `within_limit`) if no stored response is old enough, if the call fails, or if its response is unchanged. Caching headers apply: `no-store` and `Vary: *` prevent storage, `private` limits storage to the caller, and request headers listed in `Vary` must match. With `by: caller`, calls without an identified caller pass (counted as `not_applicable`).',
  otherTools:
    'In Envoy and Istio, a cache filter comes closest, but it does not forward the request on a cache hit. Chaos Mesh has `HTTPChaos` with `replace: { body: … }`, which responds with a fixed body. toxiproxy has no equivalent.',
  example: `- name: stale-weather
  match: { tool: get_weather }
  faults:
    - replay: { age: 10m, sameArguments: true }`,
  schema: section({
    age: duration({
      default: '0s',
      description:
        'Sets the minimum age of the replayed response. Squall stores a response every 1/16 of this age, and replays the newest stored response that is at least this old.',
      examples: ['10m'],
    }),
    sameArguments: Type.Boolean({
      default: false,
      description:
        'Replays only responses to calls with the same arguments. `false`: replays any response to the same method for the same tool, prompt, resource or task.',
    }),
    by: oneOf(['caller', 'all'], {
      default: 'caller',
      description:
        "`caller`: replays responses only to the same caller, identified by session, credentials, cookies, client certificate and other headers. `all`: replays them to every caller, which may expose one user's data to another.",
    }),
  }),
  outlook({ by }, { call, identified }) {
    if (call === undefined || isOther(call)) return NOTHING
    if (by === 'caller' && !identified) return { cannot: 'no_caller' }
    const does = 'returns the stored response to an earlier call'
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
      const responses = ctx.memory(() => new StoredResponses(age, ctx.cacheBudget))
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
