import { defineCommand } from '../flags/command.ts'
import { group } from '../flags/flag.ts'
import { toggle } from '../flags/kinds.ts'
import { environmentLabelFlag, productionNamesFlag } from '../flags/production.ts'
import { CLUSTER_FLAGS, clusterOf, isEveryNamespace } from '../kube/cluster-options.ts'

export const STATUS = defineCommand({
  name: 'status',
  examples: ['status -n shop', 'status -A'],
  page: 'docs/guides/apply.md',
  description:
    'show which pods have a sidecar, whether it is armed, and which rules sampled no call',
  flags: {
    ...CLUSTER_FLAGS,
    ...group('The cluster:', { allNamespaces: toggle('all namespaces', { short: 'A' }) }),
    ...productionNamesFlag('The cluster:'),
    ...environmentLabelFlag('The cluster:'),
    ...group('Output:', {
      watch: toggle('show changes until Ctrl-C', { short: 'w' }),
      json: toggle('print one JSON document; with --watch one per line'),
    }),
  },
  parse: ({ productionNames: patterns, environmentLabel, ...flags }, context) => ({
    cluster: clusterOf(flags, context),
    allNamespaces: isEveryNamespace(flags, context),
    production: { patterns, environmentLabel },
    watch: flags.watch,
    json: flags.json,
  }),
  start: async (request) => (await import('../kube/status.ts')).statusCommand(request),
})
