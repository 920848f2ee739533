import { duration, oneOf, section } from './lib/config-schema.ts'
import {
  DISTRIBUTIONS,
  distributionKeys,
  drawDuration,
  durationsText,
} from './lib/duration-distribution.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, ParameterProblem, Verdict } from './fault.ts'
import { changingLast } from './lib/json/json-part.ts'
import { NOTHING } from './lib/outlook.ts'

/** Delays a call before the upstream gets it, its response, or each event of the stream. */
export const delay = defineFault({
  name: 'delay',
  title: 'inject latency',
  summary: 'delays a call, its response or each stream event',
  clientSees:
    "Clients receive the upstream's response byte for byte, but later. A client whose timeout is shorter than the delay gives up first; the TypeScript SDK waits 60 s by default. With `at: request`, if the client cancels the call or closes its HTTP connection during the delay, the upstream never receives the call. With `at: response`, the upstream has already executed the call; with `at: event`, it may still be executing it.",
  otherTools:
    'toxiproxy has `latency`, Envoy has `delay` with `fixed_delay`, Istio has `fixedDelay`, and Chaos Mesh has `delay`.',
  example: `- name: slow-search
  match: { tool: "search_*" }
  percent: 30
  faults:
    - delay: { fixed: 2s, jitter: 500ms }`,
  schema: section({
    ...distributionKeys,
    max: duration({ default: '1h', description: 'Caps each delay.' }),
    at: oneOf(['request', 'response', 'event'], {
      default: 'request',
      description:
        '`request`: delays the call before it reaches the upstream. `response`: delays the response. `event`: delays each stream event.',
    }),
  }),
  oneOf: DISTRIBUTIONS,
  goesWith: { jitter: 'fixed', period: 'jitter' },
  check(config) {
    const problems: ParameterProblem[] = []
    const { fixed, uniform, max } = config
    if (uniform !== undefined && uniform.min > uniform.max) {
      problems.push({ path: ['uniform', 'min'], message: '`min` must not be above `max`' })
    }
    if (config.period === 0) {
      problems.push({ path: ['period'], message: '`period` must be above zero' })
    }
    const least = fixed ?? uniform?.min ?? config.pareto?.scale
    if (least !== undefined && least > max) {
      const key = fixed !== undefined ? 'fixed' : uniform !== undefined ? 'uniform' : 'pareto'
      problems.push({ path: [key], message: 'must not be longer than `max` (default 1h)' })
    }
    return problems
  },
  outlook(config, { response }) {
    const late = `${durationsText(config)} late`
    if (config.at === 'request') return { by: 'request', does: `the upstream receives it ${late}` }
    if (config.at === 'response') return { by: 'response', does: `its response arrives ${late}` }
    if (response === 'body') return NOTHING
    return { by: 'response', any: true, does: `each event of its response arrives ${late}` }
  },
  create(config): Fault {
    const wait = async (ctx: FaultContext): Promise<Verdict> => {
      const ms = drawDuration(config, config.max, ctx)
      ctx.injected()
      await ctx.sleep(ms)
      return CONTINUE
    }
    if (config.at === 'request') return { onRequest: wait }
    if (config.at === 'response') return changingLast((ctx) => wait(ctx).then(() => undefined))
    return {
      async *onResponse(ctx, frames) {
        for await (const frame of frames) {
          if (frame.kind === 'event') await wait(ctx)
          yield frame
        }
      },
    }
  },
})
