import type { FlagSpec } from '../flags/flag-table.ts'
import { productionFlags } from '../flags/production.ts'
import { CLUSTER_FLAGS } from './cluster-flags.ts'

const RULES = 'The rules:'
const SIDECAR = 'The sidecar:'
const WAITING = 'Waiting and output:'
const JSON_FLAG = {
  name: 'json',
  group: WAITING,
  help: 'print the outcome as one JSON document',
} as const satisfies FlagSpec
// One pod is named, so that there is nothing to select.
const POD_FLAGS = CLUSTER_FLAGS.filter(({ name }) => name !== 'selector') as unknown as Exclude<
  (typeof CLUSTER_FLAGS)[number],
  { readonly name: 'selector' }
>[]

/** The options of `squall attach`. */
export const ATTACH_FLAGS = [
  {
    name: 'filename',
    short: 'f',
    value: 'file',
    group: RULES,
    help: 'rules file, of at most 64KiB; - is standard input',
  },
  {
    name: 'for',
    value: 'duration',
    default: '15m',
    group: SIDECAR,
    help: 'how long; the sidecar detaches by itself then, at most after 24h',
  },
  {
    name: 'port',
    value: 'port',
    group: SIDECAR,
    help: 'port of the app, by number or name (default: the only TCP port that the pod declares)',
  },
  {
    name: 'image',
    value: 'image',
    group: SIDECAR,
    help: 'image of Squall (default: squall: and the version of this program)',
  },
  {
    name: 'image-pull-policy',
    value: 'policy',
    group: SIDECAR,
    help: 'Always, IfNotPresent or Never',
  },
  ...POD_FLAGS,
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
    default: '60s',
    group: WAITING,
    help: 'how long to wait until traffic is taken over; an image that comes later begins nothing',
  },
  JSON_FLAG,
] as const satisfies readonly FlagSpec[]

/** The options of `squall detach`. */
export const DETACH_FLAGS = [
  ...POD_FLAGS,
  {
    name: 'timeout',
    value: 'duration',
    default: '60s',
    group: WAITING,
    help: 'how long to wait until the sidecar has ended',
  },
  JSON_FLAG,
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall attach`. */
export type AttachFlag = (typeof ATTACH_FLAGS)[number]['name']
/** The name of an option of `squall detach`. */
export type DetachFlag = (typeof DETACH_FLAGS)[number]['name']
