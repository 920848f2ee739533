import type { FlagSpec } from '../flags/flag-table.ts'
import { productionFlags } from '../flags/production.ts'
import { CLUSTER_FLAGS } from './cluster-flags.ts'

const RULES = 'The rules:'
const SELECTOR =
  'rules act only in pods with these labels, as in app=shop,tier=front; written into each rule'
const OUTPUT = 'Waiting and output:'

/** The options of `squall apply`. */
export const APPLY_FLAGS = [
  {
    name: 'filename',
    short: 'f',
    value: 'file',
    group: RULES,
    help: 'rules file to apply; - is standard input',
  },
  {
    name: 'configmap',
    value: 'name',
    default: 'squall-rules',
    group: RULES,
    help: 'ConfigMap that the sidecars read; it is made when it is not there',
  },
  {
    name: 'key',
    value: 'key',
    default: 'rules.yaml',
    group: RULES,
    help: 'key of it to write; the others stay as they are',
  },
  {
    name: 'for',
    value: 'duration',
    group: RULES,
    help: 'no rule acts longer than this from now on, in any pod; all of them start anew',
  },
  {
    name: 'dry-run',
    group: RULES,
    help: 'say what would be written and which pods it would touch, and write nothing',
  },
  ...CLUSTER_FLAGS.map((flag) => (flag.name === 'selector' ? { ...flag, help: SELECTOR } : flag)),
  ...productionFlags('The cluster:'),
  {
    name: 'environment-label',
    value: 'key',
    default: 'environment',
    group: 'The cluster:',
    help: 'label of the namespace that says which environment it is, where it can be read',
  },
  {
    name: 'timeout',
    value: 'duration',
    default: '120s',
    group: OUTPUT,
    help: 'how long to wait until every sidecar has the rules',
  },
  {
    name: 'no-wait',
    group: OUTPUT,
    help: 'do not wait: write the ConfigMap, touch the pods, and end',
  },
  { name: 'json', group: OUTPUT, help: 'print the outcome as one JSON document' },
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall apply`. */
export type ApplyFlag = (typeof APPLY_FLAGS)[number]['name']
