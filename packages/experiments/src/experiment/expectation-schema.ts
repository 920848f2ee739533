import type { TUnsafe } from 'typebox'
import type { ErrorKind } from '../load/results/result.ts'
import { latencyLimit, section } from '#rules'
import { alert, oneOrMore } from './monitor/alert-schema.ts'
import { conditions, plainShare } from './monitor/condition-schema.ts'
import * as Type from 'typebox'

/** The ways in which a call can fail, as plans name them, by the kind of the error. */
export const FAILURES = {
  tool: 'tool_error',
  rpc: 'rpc_error',
  http: 'http_error',
  timeout: 'timeout',
  reset: 'reset',
  incomplete: 'incomplete',
  malformed: 'malformed',
  refused: 'connection_refused',
} as const satisfies { readonly [Kind in ErrorKind]?: string }

export type Failure = (typeof FAILURES)[keyof typeof FAILURES]

const { health, promql } = conditions(false, plainShare)

/** Declares a limit of each quantile, by the names that its description has. */
export const quantiles = <Limit>(
  [p50, p95, p99]: readonly [string, string, string],
  limitOf: (name: string) => TUnsafe<Limit>,
) => ({
  p50: Type.Optional(limitOf(p50)),
  p95: Type.Optional(limitOf(p95)),
  p99: Type.Optional(limitOf(p99)),
})

const rise = (name: string) =>
  latencyLimit({
    description: `Value that \`${name}\` must reach, or a multiple of the value before the stages (\`2x\`).`,
  })

/** Declares what must be observed during the last stage. */
const during = section(
  { health, promql, ...quantiles(['p50', 'p95', 'p99'], rise) },
  {
    description:
      'Conditions that must each pass at least once in the last stage, such as a readiness endpoint that returns 503.',
    examples: [{ health: { url: 'http://localhost:3000/health', status: 503 } }],
  },
)

/** Declares what the faults must cause. */
export const expectation = section(
  {
    alert: Type.Optional(oneOrMore(alert, 'The alert that must fire, or a list of alerts.')),
    during: Type.Optional(during),
    errors: Type.Optional(
      Type.Unsafe<readonly Failure[]>({
        type: 'array',
        items: { type: 'string', enum: Object.values(FAILURES) },
        minItems: 1,
        maxItems: Object.keys(FAILURES).length,
        description:
          'The only kinds of errors allowed in the stages besides injected errors. `connection_refused` includes the 502 of a sidecar that cannot reach the server.',
        examples: [['tool_error']],
      }),
    ),
  },
  {
    description: 'Required reactions to the faults: alerts, conditions, and error kinds.',
    examples: [
      {
        alert: {
          name: 'McpErrorsHigh',
          within: '2m',
          resolved: '5m',
          alertmanager: 'http://localhost:9093',
        },
      },
    ],
  },
)
