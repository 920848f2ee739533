import type { FlagSpec } from '../flags/flag-values.ts'
import { productionNamesFlag } from '../flags/production.ts'

const RULES = 'Rules:'
const GUARD = 'Guard, which no rules file can loosen:'

/** The options of `squall run` about rules, and about what holds them in check. */
export const RULES_RUN_FLAGS = [
  {
    name: 'rules',
    value: 'path',
    group: RULES,
    help: 'rules file to watch, or a directory of them; without it there are no rules',
  },
  {
    name: 'rules-poll',
    value: 'duration',
    default: '5s',
    group: RULES,
    help: 'how often to look at the rules where nothing tells that they changed',
  },
  {
    name: 'pod',
    value: 'name',
    group: RULES,
    help: 'name of this pod, for rules about a share of the pods (default: POD_NAME or HOSTNAME)',
  },
  {
    name: 'workload',
    value: 'name',
    group: RULES,
    help: 'name of the Deployment, StatefulSet or Job of this pod, for rules with match.workload',
  },
  {
    name: 'pod-labels-file',
    value: 'path',
    group: RULES,
    help: 'file with the labels of this pod as the downward API of Kubernetes writes it, for rules with match.podLabels',
  },
  {
    name: 'environment',
    value: 'name',
    group: GUARD,
    help: 'where this is; in production no rule ever acts (default: ENVIRONMENT or NODE_ENV, for that alone)',
  },
  { name: 'allow-production', group: GUARD, help: 'let rules act in production, too' },
  productionNamesFlag(GUARD),
  {
    name: 'max-percent',
    value: 'percent',
    group: GUARD,
    help: 'highest share of the calls it matches that any one rule may hit, such as 20%',
  },
  {
    name: 'max-active',
    value: 'number',
    group: GUARD,
    help: 'faults in progress at a time, over all rules',
  },
  {
    name: 'max-duration',
    value: 'duration',
    group: GUARD,
    help: 'longest time that a rule is active, counted from its appliedAt, or else from when it appeared',
  },
  {
    name: 'allow-faults',
    value: 'faults',
    repeatable: true,
    group: GUARD,
    help: 'faults that rules may use, such as delay,abort; a rule that uses another never acts',
  },
  {
    name: 'deny-tools',
    value: 'tools',
    repeatable: true,
    group: GUARD,
    help: 'tools into whose calls no rule injects, by name or glob, such as pay_*,delete_*',
  },
  {
    name: 'exclude-paths',
    value: 'paths',
    repeatable: true,
    group: GUARD,
    help: 'paths at which no rule acts, exactly or by glob, such as /admin/*',
  },
  {
    name: 'guard-error-rate',
    value: 'percent',
    default: '50%',
    group: GUARD,
    help: 'share of real errors beyond which everything is disarmed; off for none',
  },
  {
    name: 'guard-window',
    value: 'duration',
    default: '30s',
    group: GUARD,
    help: 'how far back real errors are looked at',
  },
  {
    name: 'guard-min-calls',
    value: 'number',
    default: '10',
    group: GUARD,
    help: 'calls within that time below which their errors say nothing',
  },
  {
    name: 'header-faults',
    group: GUARD,
    help: 'let callers ask for faults by headers such as x-squall-delay: 2s',
  },
  {
    name: 'header-faults-max-percent',
    value: 'percent',
    default: '100%',
    group: GUARD,
    help: 'highest share of the calls with such headers that is hit',
  },
  { name: 'dry-run', group: GUARD, help: 'match, draw and count, but do nothing' },
] as const satisfies readonly FlagSpec[]

/** The name of an option about rules. */
export type RulesFlag = (typeof RULES_RUN_FLAGS)[number]['name']
