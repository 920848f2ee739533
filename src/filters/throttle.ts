import { sizeText } from '../base/units.ts'
import { oneOf, section, size } from './lib/config-schema.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, Output, ParameterProblem } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import { slowed } from './lib/slow-link.ts'
import * as Type from 'typebox'

/** Limits the bytes per second of a call or its response. */
export const throttle = defineFault({
  name: 'throttle',
  summary: 'sends a call or its response over a slow link',
  schema: section({
    rate: size({
      default: '1KiB',
      description: 'How much the link carries in a second.',
      examples: ['4KiB'],
    }),
    direction: oneOf(['response', 'request', 'both'], {
      default: 'response',
      description:
        '`response`: the response trickles. `request`: the upstream gets the call as late as its size asks for. `both`: one and then the other.',
    }),
    chunk: Type.Optional(
      size({
        description:
          'How much goes out at a time. Without it, what the link carries in 50 ms; at most a thousand pieces are sent in a second.',
        examples: ['128B'],
      }),
    ),
  }),
  meets:
    'The whole response, byte for byte, slowly. Clients with a limit for the whole request run into it although something arrives all the time; those with an idle limit alone do not.',
  elsewhere: 'toxiproxy: `bandwidth`, and `slicer` for `chunk`. Envoy: `response_rate_limit`.',
  example: `- name: slow-downloads
  match: { tool: fetch_document }
  faults:
    - throttle: { rate: 4KiB }`,
  check(config) {
    const problems: ParameterProblem[] = []
    if (config.rate === 0) {
      problems.push({ path: ['rate'], message: 'nothing would ever arrive; that is `hang`' })
    }
    if (config.chunk === 0) problems.push({ path: ['chunk'], message: 'must be 1B or more' })
    return problems
  },
  outlook({ rate, direction }, { call }) {
    const slow = `at ${sizeText(rate)} a second`
    if (direction === 'response') return { by: 'output', does: `its response trickles ${slow}` }
    if (call?.from === 'server') return NOTHING
    const does = `the upstream gets it ${slow}`
    if (direction === 'request') {
      return { by: 'request', does, needs: call ? undefined : 'a request with a body' }
    }
    // Without a request body only the response is slowed.
    return { by: call ? 'request' : 'output', does: `${does}, and a response of its own trickles` }
  },
  create({ rate, direction, chunk }): Fault {
    const wait = async (ctx: FaultContext): Promise<typeof CONTINUE> => {
      if (ctx.requestBytes > 0) {
        ctx.injected()
        await ctx.sleep((ctx.requestBytes / rate) * 1000)
      }
      return CONTINUE
    }
    const trickle = (ctx: FaultContext, { head, body }: Output): Output => {
      ctx.injected()
      return { head, body: slowed(ctx, body, { rate, chunk }) }
    }
    return {
      ...(direction === 'response' ? {} : { onRequest: wait }),
      ...(direction === 'request' ? {} : { onOutput: trickle }),
    }
  },
})
