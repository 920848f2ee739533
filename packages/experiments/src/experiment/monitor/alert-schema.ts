import type { TUnsafe } from 'typebox'
import { duration, section } from '#rules'
import { text } from '../sidecar-schema.ts'
import * as Type from 'typebox'

/** Declares an object, or a list of at most ten. */
export function oneOrMore<Spec>(one: TUnsafe<Spec>, description: string): TUnsafe<Spec | Spec[]> {
  const list = { type: 'array', items: one, minItems: 1, maxItems: 10 }
  return Type.Unsafe<Spec | Spec[]>({ anyOf: [one, list], description })
}

/** Declares an alert. */
export const alert = section(
  {
    name: text('Name of the alert (`alertname`).', 256),
    labels: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 1024 },
        maxProperties: 20,
        description: 'Labels that the alert must have.',
        examples: [{ namespace: 'shop' }],
      }),
    ),
    within: duration({
      default: '2m',
      description:
        'Maximum time from the start of the last stage until the alert fires. The stage is extended if needed.',
    }),
    resolved: Type.Optional(
      duration({ description: 'Maximum time from the rollback until the alert resolves.' }),
    ),
    alertmanager: Type.Optional(text('URL of the Alertmanager server.')),
    prometheus: Type.Optional(text('URL of the Prometheus server, instead of `alertmanager`.')),
  },
  { description: 'An alert that must fire.' },
)
