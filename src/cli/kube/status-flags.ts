import type { FlagSpec } from '../flags/flag-table.ts'
import { CLUSTER_FLAGS } from './cluster-flags.ts'

const OUTPUT = 'Output:'

/** The options of `squall status`. */
export const STATUS_FLAGS = [
  ...CLUSTER_FLAGS,
  {
    name: 'all-namespaces',
    short: 'A',
    group: 'The cluster:',
    help: 'look at all namespaces',
  },
  { name: 'json', group: OUTPUT, help: 'print one JSON document' },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall status`. */
export type StatusFlag = (typeof STATUS_FLAGS)[number]['name']
