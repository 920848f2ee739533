import { defineCommand, environmentLabelFlag, group, productionNamesFlag, toggle } from '#cli'
import {
  CLUSTER_FLAGS,
  clusterOf,
  CONTEXTS_FLAG,
  isEveryNamespace,
} from '../cli/cluster-options.ts'

export const STATUS = defineCommand({
  name: 'status',
  examples: ['status -n shop', 'status -A'],
  page: 'docs/guides/apply.md',
  description:
    'show which pods have a sidecar, whether it is armed, and which rules sampled no call',
  flags: {
    ...CLUSTER_FLAGS,
    ...CONTEXTS_FLAG,
    ...group('The cluster:', { allNamespaces: toggle('all namespaces', { short: 'A' }) }),
    ...productionNamesFlag('The cluster:'),
    ...environmentLabelFlag('The cluster:'),
    ...group('Output:', {
      all: toggle('list every pod, even above 40 lines'),
      watch: toggle('show changes until Ctrl-C', { short: 'w' }),
      json: toggle('print one JSON document; with --watch one per line'),
    }),
  },
  parse: ({ productionNames: patterns, environmentLabel, ...flags }, context) => ({
    cluster: clusterOf(flags, context),
    allNamespaces: isEveryNamespace(flags, context),
    production: { patterns, environmentLabel },
    watch: flags.watch,
    all: flags.all,
    json: flags.json,
  }),
  start: async (request) => {
    const { statusCommand } = await import('../cli/status.ts')
    const { inContexts } = await import('../cli/contexts.ts')
    const conflict = request.watch && '--watch'
    return inContexts(request, (each, { out }) => statusCommand(each, out), { conflict })
  },
})
