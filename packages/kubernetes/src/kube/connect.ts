import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { type ClusterAccess, type Environment, readKubeFile, tokenFile } from './cluster-access.ts'
import { impersonationOf } from './impersonation.ts'
import { KubeClient } from './kube-client.ts'
import { configError } from './kube-error.ts'
import { kubeconfigAccess, kubeconfigPaths, readKubeconfig } from './kubeconfig.ts'

/** Chooses a cluster and a user. */
export interface ClusterChoice {
  /** A file; without one KUBECONFIG, then the pod's service account, then the home directory. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** The user to impersonate, and its groups, instead of those of the kubeconfig. */
  readonly as?: string | undefined
  readonly asGroups?: readonly string[] | undefined
  readonly env: Environment
}

interface Connection extends ClusterChoice {
  readonly version: string
  /** Requests that the API server did not serve are repeated for this time; 0 by default. */
  readonly patienceMs?: number | undefined
}

/** The directory in which a pod finds its service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Returns a client for the cluster that kubectl would choose. */
export function connectKube(choice: Connection): KubeClient {
  const { kubeconfig, context, env, as, asGroups = [] } = choice
  if (as === undefined && asGroups.length > 0) throw configError('--as-group needs --as')
  const asksForOne = kubeconfig !== undefined || context !== undefined || env['KUBECONFIG']
  const paths = kubeconfigPaths(kubeconfig, env)
  const access =
    (asksForOne ? undefined : inClusterAccess(env)) ??
    kubeconfigAccess(readKubeconfig(paths, kubeconfig !== undefined), context, env)
  const impersonation = impersonationOf({ as, 'as-groups': asGroups }) ?? access.impersonation
  return new KubeClient({ ...access, impersonation }, `squall/${choice.version}`, choice.patienceMs)
}

/**
 * Returns a client without credentials, for what everybody may read; undefined outside of a
 * cluster. The CA in the file alone is trusted. Throws a `KubeError` where the file cannot be read.
 */
export function anonymousClient(
  env: Environment,
  caFile: string,
  version: string,
): KubeClient | undefined {
  const server = serverOf(env)
  if (server === undefined) return undefined
  const access = {
    server,
    tls: { ca: readKubeFile(caFile, 'CA of the cluster'), insecure: false },
    credentials: () => Promise.resolve({}),
    namespace: '',
    name: 'the API server',
  }
  return new KubeClient(access, `squall/${version}`)
}

/** Returns the access of the pod's service account; undefined where there is none. */
export function inClusterAccess(
  env: Environment,
  directory = SERVICE_ACCOUNT,
): ClusterAccess | undefined {
  const server = serverOf(env)
  if (server === undefined || !existsSync(`${directory}/token`)) return undefined
  return {
    server,
    tls: { ca: readKubeFile(`${directory}/ca.crt`, 'service account'), insecure: false },
    credentials: tokenFile(`${directory}/token`, {}),
    namespace: readKubeFile(`${directory}/namespace`, 'service account').trim(),
    name: 'the service account of this pod',
  }
}

function serverOf(env: Environment): URL | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (host === undefined || host === '') return undefined
  return new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`)
}
