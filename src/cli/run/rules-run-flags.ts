import { flagGroup } from '../flags/flag-values.ts'
import { productionNamesFlag } from '../flags/production.ts'

const GUARD = 'Guard, which no rules file can loosen:'

/** The options of `squall run` about rules, and about what holds them in check. */
export const RULES_RUN_FLAGS = [
  ...flagGroup('Rules:', {
    rules: ['path', 'rules file to watch, or a directory of them; without it there are no rules'],
    'rules-poll': [
      'duration',
      'how often to look at the rules where nothing tells that they changed',
      { default: '5s' },
    ],
    pod: [
      'name',
      'name of this pod, for rules about a share of the pods (default: POD_NAME or HOSTNAME)',
    ],
    workload: [
      'name',
      'name of the Deployment, StatefulSet or Job of this pod, for rules with match.workload',
    ],
    'pod-labels-file': [
      'path',
      'file with the labels of this pod as the downward API of Kubernetes writes it, for rules with match.podLabels',
    ],
  }),
  ...flagGroup(GUARD, {
    environment: [
      'name',
      'where this is; in production no rule ever acts (default: ENVIRONMENT or NODE_ENV, for that alone)',
    ],
    'allow-production': 'let rules act in production, too',
  }),
  ...productionNamesFlag(GUARD),
  ...flagGroup(GUARD, {
    'max-percent': [
      'percent',
      'highest share of the calls it matches that any one rule may sample, such as 20%',
    ],
    'max-active': ['number', 'faults in progress at a time, over all rules'],
    'max-duration': [
      'duration',
      'longest time that a rule is active, counted from its appliedAt, or else from when it appeared',
    ],
    'allow-faults': [
      'faults',
      'faults that rules may use, such as delay,abort; a rule that uses another never acts',
      { repeatable: true },
    ],
    'deny-tools': [
      'tools',
      'tools into whose calls no rule injects, by name or glob, such as pay_*,delete_*',
      { repeatable: true },
    ],
    'exclude-paths': [
      'paths',
      'paths at which no rule acts, exactly or by glob, such as /admin/*',
      { repeatable: true },
    ],
    'guard-error-rate': [
      'percent',
      'share of real errors beyond which everything is disarmed; off for none',
      { default: '50%' },
    ],
    'guard-window': ['duration', 'how far back real errors are looked at', { default: '30s' }],
    'guard-min-calls': [
      'number',
      'calls within that time below which their errors say nothing',
      { default: '10' },
    ],
    'header-faults': 'let callers ask for faults by headers such as x-squall-delay: 2s',
    'header-faults-max-percent': [
      'percent',
      'highest share of the calls with such headers that is sampled',
      { default: '100%' },
    ],
    'dry-run': 'match, sample and count, but inject nothing',
  }),
]

/** The name of an option about rules. */
export type RulesFlag = (typeof RULES_RUN_FLAGS)[number]['name']
