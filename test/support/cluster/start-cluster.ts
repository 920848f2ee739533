import type { Pod } from '../../../packages/kubernetes/src/injector/pod.ts'
import { apiCluster } from './api-cluster.ts'

/**
 * Clusters by name, or what of a cluster a test needs. Modules of the others are loaded when one is
 * started.
 */
const CLUSTERS = {
  /** A small API server in this process, and a kubeconfig for it. */
  api: apiCluster,
  /** The same with pods whose sidecars run in this process. */
  shop: async () => (await import('./shop.ts')).shopCluster(),
  /** A real API server with etcd, without nodes and controllers. */
  'control-plane': async () => (await import('../../system/api-server-process.ts')).controlPlane(),
  /** The same with many pods, whose kubelets and sidecars are played. */
  fleet: async (pods: number, dead?: number) =>
    (await import('../../system/fleet.ts')).fleet(pods, dead),
  /** A real cluster with one node, and some namespaces. */
  bare: async (...namespaces: string[]) =>
    (await import('../../system/cluster/bare.ts')).bareCluster(...namespaces),
  /** The same with the chart installed. */
  installed: async (flags?: readonly string[]) =>
    (await import('../../system/cluster/installed.ts')).installedCluster(flags),
  /** The network namespaces of one pod and of a client outside, without a cluster. */
  network: async () => (await import('../../system/pod-network.ts')).podNetwork(),
  /** One pod without a cluster, run by Podman. */
  pod: async (name: string, pod: Pod) =>
    (await import('../../system/pod-stage.ts')).runningPod(name, pod),
}

type Clusters = typeof CLUSTERS

/** Starts a cluster, real or played. */
export function startCluster<K extends keyof Clusters>(
  kind: K,
  ...args: Parameters<Clusters[K]>
): ReturnType<Clusters[K]> {
  return (CLUSTERS[kind] as (...args: unknown[]) => unknown)(...args) as ReturnType<Clusters[K]>
}
