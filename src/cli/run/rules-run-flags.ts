import { flagGroup } from '../flags/flag-values.ts'
import { productionNamesFlag } from '../flags/production.ts'

const GUARD = 'Guard, which no rules file can loosen:'

/** Declares the options of `squall run` about rules and their limits. */
export const RULES_RUN_FLAGS = [
  ...flagGroup('Rules:', {
    rules: ['path', 'rules file to watch, or a directory of them; without it there are no rules'],
    'rules-poll': [
      'duration',
      'how often to read the rules where changes are not notified',
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
      'name of this environment; in production no rule ever acts (default: ENVIRONMENT or NODE_ENV, for this check only)',
    ],
    'allow-production': 'let rules act in production as well',
  }),
  ...productionNamesFlag(GUARD),
  ...flagGroup(GUARD, {
    'max-percent': [
      'percent',
      'highest share of its matching calls that a rule may sample, such as 20%',
    ],
    'max-active': ['number', 'most faults in progress, over all rules'],
    'max-duration': [
      'duration',
      'longest time that a rule is active, counted from its appliedAt, else from when it appeared',
    ],
    'allow-faults': [
      'faults',
      'faults that rules may use, such as delay,abort; a rule with another fault never acts',
      { repeatable: true },
    ],
    'deny-tools': [
      'tools',
      'tools whose calls no rule touches, by name or glob, such as pay_*,delete_*',
      { repeatable: true },
    ],
    'exclude-paths': [
      'paths',
      'paths on which no rule acts, by exact path or glob, such as /admin/*',
      { repeatable: true },
    ],
    'guard-error-rate': [
      'percent',
      'share of real errors above which all rules are disarmed; off for no guard',
      { default: '50%' },
    ],
    'guard-window': ['duration', 'time window of the error rate', { default: '30s' }],
    'guard-min-calls': [
      'number',
      'fewest calls in the window that can disarm rules',
      { default: '10' },
    ],
    'header-faults': 'let callers request faults by headers such as x-squall-delay: 2s',
    'header-faults-max-percent': [
      'percent',
      'highest share of calls with such headers that is sampled',
      { default: '100%' },
    ],
    'dry-run': 'match, sample and count, but inject nothing',
  }),
]

export type RulesFlag = (typeof RULES_RUN_FLAGS)[number]['name']
