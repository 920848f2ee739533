import { exclusive } from './exclusive.ts'
import { duration, oneOf, section } from './config-schema.ts'
import { DISTRIBUTIONS, distributionKeys, drawDuration } from './duration-distribution.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type { Fault, FaultContext, ParameterProblem } from './fault.ts'

/** Lateness: before the app sees the call, after it answered, or before each event of the stream. */
export const delay = defineFault({
  name: 'delay',
  summary: 'makes a call late',
  schema: section({
    ...distributionKeys,
    max: duration({ default: '1h', description: 'No single delay is longer than this.' }),
    at: oneOf(['request', 'response', 'event'], {
      default: 'request',
      description:
        '`request`: before the app gets the call. `response`: after the app answered it. `event`: before each event of a stream.',
    }),
  }),
  check(config) {
    const problems: ParameterProblem[] = [...exclusive(config, DISTRIBUTIONS)]
    const { fixed, jitter, uniform, max } = config
    if (jitter !== undefined && fixed === undefined) {
      problems.push({ path: ['jitter'], message: '`jitter` goes with `fixed` only' })
    }
    if (uniform !== undefined && uniform.min > uniform.max) {
      problems.push({ path: ['uniform', 'min'], message: '`min` is above `max`' })
    }
    const least = fixed ?? uniform?.min ?? config.pareto?.scale
    if (least !== undefined && least > max) {
      const key = fixed !== undefined ? 'fixed' : uniform !== undefined ? 'uniform' : 'pareto'
      problems.push({ path: [key], message: 'longer than `max`, which is 1h unless given' })
    }
    return problems
  },
  create(config): Fault {
    const wait = async (ctx: FaultContext): Promise<void> => {
      const ms = drawDuration(config, config.max, ctx.random)
      ctx.injected()
      await ctx.sleep(ms)
    }
    if (config.at === 'request') {
      return {
        async onRequest(ctx) {
          await wait(ctx)
          return CONTINUE
        },
      }
    }
    const everyEvent = config.at === 'event'
    return {
      onResponse: (ctx) =>
        async function* (frames) {
          for await (const frame of frames) {
            if (everyEvent ? frame.kind === 'event' : frame.last) await wait(ctx)
            yield frame
          }
        },
    }
  },
})
