import type { FlagSpec } from '../flags/flag-table.ts'

const INPUT = 'What to read:'
const PLACE = 'Where it will run:'
const INJECTION = 'The sidecar:'
const OUTPUT = 'Output:'

const FILE = {
  name: 'file',
  short: 'f',
  value: 'path',
  repeatable: true,
  group: INPUT,
  help: 'manifest in YAML or JSON, with any number of documents; - is standard input; repeat it for more',
} as const satisfies FlagSpec

const FORMAT = {
  name: 'output',
  short: 'o',
  value: 'format',
  group: OUTPUT,
  help: 'yaml or json (default: as each document is written)',
} as const satisfies FlagSpec

/** The options of `squall inject`. */
export const INJECT_FLAGS = [
  FILE,
  {
    name: 'namespace',
    short: 'n',
    value: 'name',
    default: 'default',
    group: PLACE,
    help: 'namespace of what names none',
  },
  {
    name: 'namespace-label',
    value: 'key=value',
    repeatable: true,
    group: PLACE,
    help: 'label of the namespace, where the input does not hold the namespace itself; repeat it for more',
  },
  {
    name: 'namespace-annotation',
    value: 'key=value',
    repeatable: true,
    group: PLACE,
    help: 'annotation of the namespace, likewise',
  },
  {
    name: 'kubernetes-version',
    value: 'version',
    group: PLACE,
    help: 'version of the cluster, such as 1.33; it decides about native sidecars',
  },
  {
    name: 'annotation',
    value: 'key=value',
    repeatable: true,
    group: INJECTION,
    help: 'annotation to give each pod template first, such as inject=true or mode=port; repeat it for more',
  },
  { name: 'image', value: 'image', group: INJECTION, help: 'image of the sidecar' },
  {
    name: 'settings',
    value: 'file',
    group: INJECTION,
    help: 'settings of the injector, in YAML or JSON, as the webhook has them',
  },
  FORMAT,
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall inject`. */
export type InjectFlag = (typeof INJECT_FLAGS)[number]['name']

/** The options of `squall uninject`. */
export const UNINJECT_FLAGS = [
  FILE,
  {
    name: 'annotation-prefix',
    value: 'prefix',
    default: 'squall.dev/',
    group: INPUT,
    help: 'what annotations of the injector begin with',
  },
  FORMAT,
] as const satisfies readonly FlagSpec[]

/** The name of an option of `squall uninject`. */
export type UninjectFlag = (typeof UNINJECT_FLAGS)[number]['name']
