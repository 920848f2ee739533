import { type Environment, FlagValues, type RawFlags } from '../flags/flag-values.ts'
import { parseProductionNames } from '../flags/production.ts'
import { UsageError } from '../flags/usage-error.ts'
import type { NamespaceCheck } from '../../cluster/kube/production-namespaces.ts'
import { type ClusterOptions, parseCluster } from './cluster-options.ts'
import { STATUS_FLAGS, type StatusFlag } from './status-flags.ts'

/** The options of `squall status`. */
export interface StatusRequest {
  readonly cluster: ClusterOptions
  readonly allNamespaces: boolean
  readonly production: NamespaceCheck
  readonly watch: boolean
  readonly json: boolean
}

/** Checks the command line and the environment. Throws nothing but a `UsageError`. */
export function parseStatus(raw: RawFlags, env: Environment): StatusRequest {
  const flags = new FlagValues<StatusFlag>(STATUS_FLAGS, raw, env)
  const allNamespaces = flags.switch('all-namespaces')
  if (allNamespaces && raw.has('namespace')) {
    throw new UsageError(
      'BAD_COMBINATION',
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
