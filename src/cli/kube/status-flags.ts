import type { FlagSpec } from '../flags/flag-table.ts'
import { productionNamesFlag } from '../flags/production.ts'
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
  productionNamesFlag('The cluster:'),
  {
    name: 'environment-label',
    value: 'key',
    default: 'environment',
    group: 'The cluster:',
    help: 'label of a namespace that names its environment, where it can be read',
  },
  {
    name: 'watch',
    short: 'w',
    group: OUTPUT,
    help: 'show it again when it changes, until Ctrl-C',
  },
  { name: 'json', group: OUTPUT, help: 'print one JSON document; with --watch one in each line' },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall status`. */
export type StatusFlag = (typeof STATUS_FLAGS)[number]['name']
