import type { FaultName } from '../index.ts'

// Each name once, which the type holds to the list of faults; in the same order.
const NAMES: Readonly<Record<FaultName, true>> = {
  delay: true,
  abort: true,
  rateLimit: true,
  hang: true,
  reset: true,
  truncate: true,
  rewrite: true,
  corrupt: true,
  throttle: true,
  catalog: true,
  session: true,
  unauthorized: true,
  stream: true,
  replay: true,
  amplify: true,
  poison: true,
  inflate: true,
}

/** The names of all faults. Importing them loads no fault. */
export const FAULT_NAMES = Object.keys(NAMES) as readonly FaultName[]
