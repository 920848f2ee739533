import type { Static } from 'typebox'
import { abort } from './abort.ts'
import { amplify } from './amplify.ts'
import { catalog } from './catalog.ts'
import { connectionFault } from './connection.ts'
import { corrupt } from './corrupt.ts'
import { delay } from './delay.ts'
import { falsify } from './falsify.ts'
import type { Fault } from './fault.ts'
import { hang } from './hang.ts'
import { inflate } from './inflate.ts'
import { poison } from './poison.ts'
import { processFault } from './process.ts'
import { rateLimit } from './rate-limit.ts'
import { replay } from './replay.ts'
import { reset } from './reset.ts'
import { rewrite } from './rewrite.ts'
import { session } from './session.ts'
import { stream } from './stream.ts'
import { throttle } from './throttle.ts'
import { truncate } from './truncate.ts'
import { unauthorized } from './unauthorized.ts'

/** All faults. Everything that is said or checked about faults is derived from this list. */
export const FAULTS = [
  delay,
  abort,
  rateLimit,
  hang,
  reset,
  truncate,
  rewrite,
  corrupt,
  throttle,
  catalog,
  session,
  unauthorized,
  stream,
  replay,
  amplify,
  poison,
  falsify,
  inflate,
  processFault,
  connectionFault,
] as const

type Definition = (typeof FAULTS)[number]

export type FaultName = Definition['name']

/** The parameters of a fault, parsed and with defaults. */
export type FaultConfig<Name extends FaultName> = Static<
  Extract<Definition, { readonly name: Name }>['schema']
>

export type FaultUse = {
  [Name in FaultName]: { readonly fault: Name; readonly config: FaultConfig<Name> }
}[FaultName]

export function createFault(use: FaultUse): Fault {
  const definition = FAULTS.find((fault) => fault.name === use.fault)
  // The name picks the definition whose schema the parameters were read by, which types cannot
  // follow.
  const create = definition?.create as ((config: unknown) => Fault) | undefined
  if (create === undefined) throw new TypeError(`unknown fault: ${use.fault}`)
  return create(use.config)
}
