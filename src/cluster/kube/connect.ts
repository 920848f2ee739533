import type { ClusterAccess } from './cluster-access.ts'
import { inClusterAccess, isInCluster } from './in-cluster.ts'
import { kubeconfigAccess } from './kubeconfig-access.ts'
import { kubeconfigPaths, readKubeconfig } from './kubeconfig-files.ts'
import { createKubeClient, type KubeClient } from './kube-client.ts'

/** Which cluster to speak to. */
export interface Connection {
  /** A file; without one KUBECONFIG, then the home directory, then the pod's service account. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
}

/** A client for whoever runs this, as kubectl would choose the cluster. */
export function connectKube(connection: Connection): KubeClient {
  return createKubeClient(accessOf(connection), `squall/${connection.version}`)
}

function accessOf({ kubeconfig, context, env }: Connection): ClusterAccess {
  const paths = kubeconfigPaths(kubeconfig, env)
  const asksForOne = kubeconfig !== undefined || context !== undefined || env['KUBECONFIG']
  if (!asksForOne && isInCluster(env)) return inClusterAccess(env)
  return kubeconfigAccess(readKubeconfig(paths, kubeconfig !== undefined), context)
}
