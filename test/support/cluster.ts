// The door for tests of Kubernetes: API servers, pods, reviews of the webhook, and a Prometheus that
// scrapes. Real clusters and sidecars of pods are heavy: they are loaded when a test starts them.

/** Clusters, and access to their API server. */
export { startCluster } from './cluster/start-cluster.ts'
export { type Cluster, TOKEN, accessTo, kubeconfigText } from './cluster/api-cluster.ts'
export type { ApiServer, Seen } from './cluster/api-server.ts'
export { mergePatch } from './cluster/api-patches.ts'
export type { CommandResult, PodOptions, Shop } from './cluster/shop.ts'

/** Pods, and reviews of them by a webhook. */
export {
  ASK,
  CA,
  type Line,
  type MountedPair,
  type Responded,
  type StagedWebhook,
  type Verdict,
  judge,
  lasting,
  mountPair,
  podOf,
  reviewOf,
  send,
  servingPair,
} from './cluster/webhook.ts'
export { patched } from './cluster/patched.ts'

/** Prometheus. */
export {
  type StoredExemplar,
  type Prometheus,
  type Series,
  evaluatedAnew,
  promtool,
  queryBecomes,
  scrapedMoment,
  startPrometheus,
} from './cluster/prometheus.ts'
