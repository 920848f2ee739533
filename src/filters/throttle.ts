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
  title: 'limit bandwidth',
  summary: 'limits the bandwidth of a call or its response',
  schema: section({
    rate: size({
      default: '1KiB',
      description: 'Limits the bandwidth to this many bytes per second.',
      examples: ['4KiB'],
    }),
    direction: oneOf(['response', 'request', 'both'], {
      default: 'response',
      description:
        '`response`: sends the response slowly. `request`: delays the call by the time that its bytes would take at the given `rate`. `both`: delays the call, then sends the response slowly.',
    }),
    chunk: Type.Optional(
      size({
        description:
          'Sets the chunk size. Default: 50 ms worth of bytes. Squall splits responses into at most 1,000 chunks a second.',
        examples: ['128B'],
      }),
    ),
  }),
  clientSees:
    'Clients receive the response byte for byte, but slowly or, with `direction: request`, later. A timeout for the whole request expires even while bytes keep arriving; an idle timeout does not.',
  otherTools:
    'toxiproxy has `bandwidth` for `rate` and `slicer` for `chunk`. Envoy has `response_rate_limit`.',
  example: `- name: slow-downloads
  match: { tool: fetch_document }
  faults:
    - throttle: { rate: 4KiB }`,
  check(config) {
    const problems: ParameterProblem[] = []
    if (config.rate === 0) {
      problems.push({ path: ['rate'], message: 'must be above 0; to send nothing, use `hang`' })
    }
    if (config.chunk === 0) problems.push({ path: ['chunk'], message: 'must be at least 1B' })
    return problems
  },
  outlook({ rate, direction }, { call }) {
    const slow = `at ${sizeText(rate)} per second`
    if (direction === 'response') return { by: 'output', does: `its response is sent ${slow}` }
    if (call?.from === 'server') return NOTHING
    const does = `the upstream receives it ${slow}`
    if (direction === 'request') {
      return { by: 'request', does, needs: call ? undefined : 'a request with a body' }
    }
    if (call?.transport === 'stdio') return { by: 'request', does }
    // Without a request body only the response is slowed.
    return { by: call ? 'request' : 'output', does: `${does}, and its response is sent slowly` }
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
