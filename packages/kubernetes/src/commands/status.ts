import {
  environmentLabelFlag,
  group,
  operation,
  productionNamesFlag,
  type RequestOf,
  toggle,
} from '#cli'
import {
  CLUSTER_FLAGS,
  clusterOf,
  CONTEXTS_FLAG,
  isEveryNamespace,
} from '../cli/cluster-options.ts'

export const STATUS = operation({
  name: 'status',
  examples: ['status -n shop', 'status -A'],
  page: 'docs/guides/apply.md',
  description:
    'show which pods have a sidecar, whether it is armed, and which rules sampled no call',
  flags: {
    ...CLUSTER_FLAGS,
    ...CONTEXTS_FLAG,
    ...group('The cluster:', {
      allNamespaces: toggle('show sidecars in all namespaces', { short: 'A' }),
    }),
    ...productionNamesFlag('The cluster:'),
    ...environmentLabelFlag('The cluster:'),
    ...group('Output:', {
      all: toggle('list all pods, even if the list has more than 40 lines'),
      watch: toggle('show changes until Ctrl-C', { short: 'w' }),
      json: toggle('print one JSON document; with --watch one per line'),
    }),
  },
  parse: ({ productionNames: patterns, environmentLabel, ...flags }, context) => ({
    ...flags,
    cluster: clusterOf(flags, context),
    allNamespaces: isEveryNamespace(flags, context),
    production: { patterns, environmentLabel },
  }),
})

export type StatusRequest = RequestOf<typeof STATUS>
