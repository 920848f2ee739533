import { readTokenFlag } from '../flags/admin-access-flags.ts'
import type { FlagSpec } from '../flags/flag-table.ts'

const OUTPUT = 'Output:'
const CHANGES = 'Changes:'

/** The options of `squall top`. */
export const TOP_FLAGS = [
  {
    name: 'once',
    group: OUTPUT,
    help: 'show one moment and end: with 1 if a sidecar was not heard',
  },
  { name: 'json', group: OUTPUT, help: 'print one line of JSON a second' },
  readTokenFlag('Reading:'),
  {
    name: 'admin-token-file',
    value: 'path',
    group: CHANGES,
    help: 'file with the token that arming and disarming need (or SQUALL_ADMIN_TOKEN itself)',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall top`. */
export type TopFlag = (typeof TOP_FLAGS)[number]['name']
