import type { Static, TUnsafe } from 'typebox'
import { duration, percentage, REGEX_FORMAT, section } from '#rules'
import { number, text } from '../sidecar-schema.ts'
import { oneOrMore } from './alert-schema.ts'
import * as Type from 'typebox'

const SHARES = {
  uptime:
    'Minimum share of successful MCP probes: `initialize` and `tools/list`, at most twice a second.',
  cpu: 'Maximum CPU usage of this host (Linux).',
  memory: 'Maximum memory usage of this host (Linux).',
}

const LASTING = {
  for: duration({
    default: 0,
    description: 'How long the condition must keep failing before the rollback.',
  }) as Type.TOptional<TUnsafe<number>>,
}

const PROCESSES = {
  processUptime: Type.Optional(
    duration({
      description:
        "Minimum uptime of each server process: the pods' containers except the sidecar, or the server of `squall stdio`.",
      examples: ['1h'],
    }),
  ),
  restarts: Type.Optional(
    number(0, 1000, {
      description:
        'Maximum number of server process restarts since the first measurement. In `steadyState`, exceeding it also ends a stage, because the number never decreases.',
      examples: [0],
    }),
  ),
}

const health = (lasting: Partial<typeof LASTING>) =>
  section(
    {
      url: text('URL that is requested at most twice a second.'),
      status: number(100, 599, {
        default: 200,
        description: 'HTTP status that the endpoint must return.',
      }),
      body: Type.Optional(
        Type.Unsafe<string | { readonly regex: string }>({
          anyOf: [
            { type: 'string', minLength: 1, maxLength: 1024 },
            section({
              regex: Type.Unsafe<string>({
                type: 'string',
                format: REGEX_FORMAT,
                maxLength: 1000,
                description:
                  'Regular expression that must match within the first 32,768 characters.',
              }),
            }),
          ],
          description: 'String that the body contains, or `{ regex }`.',
        }),
      ),
      ...(lasting as typeof LASTING),
    },
    { description: 'A health endpoint to check twice a second.' },
  )

const promql = (lasting: Partial<typeof LASTING>) =>
  section(
    {
      url: text('URL of the Prometheus server.'),
      query: text('PromQL expression that returns a single value.', 4096),
      max: Type.Optional(Type.Number({ description: 'Maximum allowed value.' })),
      min: Type.Optional(Type.Number({ description: 'Minimum allowed value.' })),
      ...(lasting as typeof LASTING),
    },
    { description: 'A PromQL expression with a bound.' },
  )

/** Conditions as written; those outside of `abortOn` have no `for`. */
export type WrittenHealth = Static<ReturnType<typeof health>>
export type WrittenQuery = Static<ReturnType<typeof promql>>

/** Declares the sampled conditions; those of `abortOn` may have to fail for a time. */
export function conditions<Limit>(
  withFor: boolean,
  limitOf: (description: string) => TUnsafe<Limit>,
) {
  const lasting = withFor ? LASTING : {}
  return {
    uptime: Type.Optional(limitOf(SHARES.uptime)),
    cpu: Type.Optional(limitOf(SHARES.cpu)),
    memory: Type.Optional(limitOf(SHARES.memory)),
    ...PROCESSES,
    health: Type.Optional(
      oneOrMore(health(lasting), 'A health endpoint, or a list of health endpoints.'),
    ),
    promql: Type.Optional(
      oneOrMore(promql(lasting), 'A PromQL expression with a bound, or a list.'),
    ),
  }
}

/** Declares a share without a time. */
export const plainShare = (description: string): TUnsafe<number> => percentage({ description })
