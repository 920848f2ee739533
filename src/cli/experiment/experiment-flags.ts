import { productionNamesFlag } from '../flags/production.ts'
import { readTokenFlag } from '../flags/admin-access-flags.ts'
import type { FlagSpec } from '../flags/flag-table.ts'

const PLAN = 'What is run:'
const PLACES = 'Where things are kept:'
const OUTPUT = 'What comes out:'

const EXPERIMENTS = {
  name: 'experiments',
  value: 'directory',
  default: 'experiments',
  group: PLACES,
  help: 'directory of the history and of the reports',
} as const satisfies FlagSpec

const JSON_OUT = {
  name: 'json',
  group: OUTPUT,
  help: 'print JSON on standard output, and nothing on standard error',
} as const satisfies FlagSpec

/** Where the label of the namespace is read that the sidecar says it is in. */
const CLUSTER = [
  {
    name: 'kubeconfig',
    value: 'file',
    group: PLAN,
    help: 'kubeconfig to read the namespace of the sidecar with (default: those of KUBECONFIG, or ~/.kube/config)',
  },
  { name: 'context', value: 'name', group: PLAN, help: 'context of it (default: its current one)' },
  {
    name: 'environment-label',
    value: 'key',
    default: 'environment',
    group: PLAN,
    help: 'label of that namespace that names its environment, where it can be read',
  },
] as const satisfies readonly FlagSpec[]

/** The options of `squall experiment run`. */
export const EXPERIMENT_RUN_FLAGS = [
  {
    name: 'again',
    value: 'id',
    group: PLAN,
    help: 'repeat a run exactly: its plan, rules and seed as they were; in the place of a plan',
  },
  {
    name: 'header',
    value: 'name=value',
    repeatable: true,
    group: PLAN,
    help: 'header of every request; never shown and kept nowhere',
  },
  {
    name: 'auth-token-file',
    value: 'file',
    group: PLAN,
    help: 'file with a token that is sent as Authorization: Bearer',
  },
  readTokenFlag(PLAN),
  productionNamesFlag(PLAN),
  ...CLUSTER,
  EXPERIMENTS,
  {
    name: 'state-dir',
    value: 'directory',
    group: PLACES,
    help: 'directory of the locks that keep two experiments from one target (default: squall in XDG_STATE_HOME or ~/.local/state)',
  },
  JSON_OUT,
] as const satisfies readonly FlagSpec[]

/** The options of `squall experiment list`. */
export const EXPERIMENT_LIST_FLAGS = [EXPERIMENTS, JSON_OUT] as const satisfies readonly FlagSpec[]

/** The options of `squall experiment validate`. */
export const EXPERIMENT_VALIDATE_FLAGS = [
  productionNamesFlag(PLAN),
  JSON_OUT,
] as const satisfies readonly FlagSpec[]

/** The name of any of them. */
export type ExperimentFlag =
  (typeof EXPERIMENT_RUN_FLAGS)[number]['name'] | (typeof EXPERIMENT_LIST_FLAGS)[number]['name']
