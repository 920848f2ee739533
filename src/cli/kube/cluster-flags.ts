import { readTokenFlag } from '../flags/admin-access-flags.ts'
import type { FlagSpec } from '../flags/flag-values.ts'

const CLUSTER = 'The cluster:'

/** The options of every command that speaks to a cluster. */
export const CLUSTER_FLAGS = [
  {
    name: 'namespace',
    short: 'n',
    value: 'name',
    group: CLUSTER,
    help: 'namespace to work in (default: that of the context)',
  },
  {
    name: 'kubeconfig',
    value: 'file',
    group: CLUSTER,
    help: 'kubeconfig to use (default: those of KUBECONFIG, or ~/.kube/config, or the service account of the pod)',
  },
  {
    name: 'context',
    value: 'name',
    group: CLUSTER,
    help: 'context of it (default: its current one)',
  },
  {
    name: 'selector',
    short: 'l',
    value: 'labels',
    group: CLUSTER,
    help: 'only pods with these labels, as in app=shop,tier!=test',
  },
  {
    name: 'annotation-prefix',
    value: 'prefix',
    default: 'squall.dev/',
    group: CLUSTER,
    help: 'what the annotations of the injector begin with',
  },
  readTokenFlag(CLUSTER),
] as const satisfies readonly FlagSpec[]

/** The name of such an option. */
export type ClusterFlag = (typeof CLUSTER_FLAGS)[number]['name']
