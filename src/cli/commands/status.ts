import { flagGroup, type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import {
  environmentLabelFlag,
  parseProductionNames,
  productionNamesFlag,
} from '../flags/production.ts'
import { parseAllNamespaces, CLUSTER_FLAGS, parseCluster } from '../kube/cluster-options.ts'
import { defineCommand } from '../flags/command.ts'

const STATUS_FLAGS = [
  ...CLUSTER_FLAGS,
  ...flagGroup('The cluster:', {
    'all-namespaces': ['', 'all namespaces', { short: 'A' }],
  }),
  ...productionNamesFlag('The cluster:'),
  ...environmentLabelFlag('The cluster:'),
  ...flagGroup('Output:', {
    watch: ['', 'show changes until Ctrl-C', { short: 'w' }],
    json: 'print one JSON document; with --watch one per line',
  }),
]

export const STATUS = defineCommand({
  name: 'status',
  examples: ['status -n shop', 'status -A'],
  page: 'docs/guides/apply.md',
  description:
    'show which pods have a sidecar, whether it is armed, and which rules sampled no call',
  flags: STATUS_FLAGS,
  parse: parseStatus,
  start: async (request) => (await import('../kube/status.ts')).statusCommand(request),
})

export type StatusRequest = ReturnType<typeof parseStatus>

function parseStatus(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(STATUS_FLAGS, raw, env)
  const allNamespaces = parseAllNamespaces(flags, raw)
  const environmentLabel = flags.required('environment-label').text
  return {
    cluster: parseCluster(flags, env),
    allNamespaces,
    production: { patterns: parseProductionNames(flags), environmentLabel },
    watch: flags.switch('watch'),
    json: flags.switch('json'),
  }
}
