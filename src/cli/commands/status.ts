import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseProductionNames, productionNamesFlag } from '../flags/production.ts'
import { CLUSTER_FLAGS, parseCluster } from '../kube/cluster-options.ts'
import { defineCommand } from '../flags/command.ts'
import { badCombination } from '../flags/usage-error.ts'

const STATUS_FLAGS = [
  ...CLUSTER_FLAGS,
  ...flagGroup('The cluster:', {
    'all-namespaces': ['', 'look at all namespaces', { short: 'A' }],
  }),
  ...productionNamesFlag('The cluster:'),
  ...flagGroup('The cluster:', {
    'environment-label': [
      'key',
      'label of a namespace that names its environment, where it can be read',
      { default: 'environment' },
    ],
  }),
  ...flagGroup('Output:', {
    watch: ['', 'show it again when it changes, until Ctrl-C', { short: 'w' }],
    json: 'print one JSON document; with --watch one in each line',
  }),
]

export const STATUS = defineCommand({
  name: 'status',
  description:
    'say which pods have a sidecar, whether it is armed, and which rules sampled no call',
  flags: STATUS_FLAGS,
  parse: parseStatus,
  start: async (request) => (await import('../kube/status.ts')).statusCommand(request),
})

export type StatusRequest = ReturnType<typeof parseStatus>

function parseStatus(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(STATUS_FLAGS, raw, env)
  const allNamespaces = flags.switch('all-namespaces')
  if (allNamespaces && raw.has('namespace')) {
    throw badCombination(
      '--all-namespaces and --namespace contradict each other',
      'leave one of the two out',
    )
  }
  const environmentLabel = flags.required('environment-label').text
  return {
    cluster: parseCluster(flags, env),
    allNamespaces,
    production: { patterns: parseProductionNames(flags), environmentLabel },
    watch: flags.switch('watch'),
    json: flags.switch('json'),
  }
}
