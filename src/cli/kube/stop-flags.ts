import type { FlagSpec } from '../flags/flag-table.ts'
import { productionFlags } from '../flags/production.ts'
import { CLUSTER_FLAGS } from './cluster-flags.ts'

const CLUSTER = 'The cluster:'
const OUTPUT = 'Waiting and output:'

/** The options of `squall stop`. */
export const STOP_FLAGS = [
  ...CLUSTER_FLAGS,
  {
    name: 'all-namespaces',
    short: 'A',
    group: CLUSTER,
    help: 'every namespace that has sidecars now',
  },
  {
    name: 'configmap',
    value: 'name',
    default: 'squall-rules',
    group: CLUSTER,
    help: 'ConfigMap that later pods read, besides those that sidecars read now',
  },
  {
    name: 'timeout',
    value: 'duration',
    default: '30s',
    group: OUTPUT,
    help: 'how long to wait until every sidecar has confirmed',
  },
  {
    name: 'dry-run',
    group: OUTPUT,
    help: 'have the API server check every change, and change nothing',
  },
  { name: 'json', group: OUTPUT, help: 'print the outcome as one JSON document' },
] as const satisfies readonly FlagSpec[]

/** The options of `squall resume`. */
export const RESUME_FLAGS = [
  ...STOP_FLAGS,
  ...productionFlags(CLUSTER),
  {
    name: 'environment-label',
    value: 'key',
    default: 'environment',
    group: CLUSTER,
    help: 'label of the namespace that names its environment, where it can be read',
  },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall stop`. */
export type StopFlag = (typeof STOP_FLAGS)[number]['name']

/** The name of an option of `squall resume`. */
export type ResumeFlag = (typeof RESUME_FLAGS)[number]['name']
