export {
  annotationPrefixFlag,
  clientFor,
  CLUSTER_FLAGS,
  clusterFlags,
  clusterOf,
  type ClusterOptions,
  parseObjectName,
  withClient,
} from './cli/cluster-options.ts'
export { askBudget, budgetOf, type BudgetOptions, sawBudget } from './kube/budget.ts'
export type { CountedExperiment } from './kube/experiment-limits.ts'
export { RULES_CONFIG_MAP, SIDECAR } from './injector/injected-names.ts'
export { podsWithRules, touchPods } from './kube/apply-rules.ts'
export { userName } from './kube/audit.ts'
export { armedText } from './kube/await-rules.ts'
export {
  type Claim,
  type ClaimedKey,
  ClaimLostError,
  claimOf,
  claimText,
  findConfigMap,
  restoreClaimed,
  writeClaimed,
} from './kube/claimed-rules.ts'
export {
  configMapKeys,
  type ConfigMapKeys,
  expectedDigest,
  readsKey,
  textBefore,
} from './kube/config-map-rules.ts'
export { connectKube } from './kube/connect.ts'
export { inParallel } from './kube/in-parallel.ts'
export type { InjectedPod, RulesConfigMap } from './kube/injected-pod.ts'
export type { KubeClient } from './kube/kube-client.ts'
export type { KubeRequest } from './kube/kube-connection.ts'
export { asKubeError, isHopeless, isKubeError, KubeError } from './kube/kube-error.ts'
export { findArmedProduction } from './kube/production-namespaces.ts'
export {
  CONFIG_MAPS,
  DEPLOYMENTS,
  describe,
  JOBS,
  type Limits,
  metadataOf,
  MUTATING_WEBHOOKS,
  NAMESPACES,
  type ObjectRef,
  pathOf,
  PODS,
  reportsReady,
  SERVICE_ACCOUNTS,
  SERVICES,
} from './kube/resources.ts'
export { sidecarOverview, type SidecarReport } from './kube/sidecar-overview.ts'
export { podId, type WatchedPod, WatchedPods } from './kube/watched-pods.ts'
export { endOf } from './webhook/managed-secret.ts'
