import * as Type from 'typebox'
import { count, list, text } from './schema-parts.ts'

/** The connections to the dependencies, as the live events have them. */
export const destinationsSchema = list(
  Type.Object({
    destination: text(300, 'The dependency as configured; `other` for all further addresses.'),
    open: count('Connections that are open.'),
    ok: count('Connections that ended without an error.'),
    real: count('Connections that failed without a fault.'),
    injected: count('Connections that a fault ended, or held until their end.'),
    sent: count('Bytes to the dependency.'),
    received: count('Bytes from the dependency.'),
  }),
  130,
  'Connections to dependencies; missing without `--outbound` and `--captured`.',
)
