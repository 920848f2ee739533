import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import type { ClusterAccess } from './cluster-access.ts'
import { KubeError } from './kube-error.ts'
import { readKubeFile } from './kube-file.ts'
import { TokenFile } from './token.ts'

/** Where a pod finds its service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns true in a pod with a service account. */
export function isInCluster(env: Environment, directory = SERVICE_ACCOUNT): boolean {
  return env['KUBERNETES_SERVICE_HOST'] !== undefined && existsSync(`${directory}/token`)
}

/** Access by the pod's own service account. */
export function inClusterAccess(env: Environment, directory = SERVICE_ACCOUNT): ClusterAccess {
  const host = env['KUBERNETES_SERVICE_HOST']
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443'
  if (host === undefined || host === '') {
    throw new KubeError(
      'config',
      'this does not run in a pod: KUBERNETES_SERVICE_HOST is not set; use a kubeconfig',
    )
  }
  if (!existsSync(`${directory}/token`)) {
    throw new KubeError(
      'config',
      'the pod has no service account token; set automountServiceAccountToken: true for it',
    )
  }
  return {
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    tls: { ca: readKubeFile(`${directory}/ca.crt`, 'service account'), insecure: false },
    credentials: new TokenFile(`${directory}/token`, {}),
    namespace: readKubeFile(`${directory}/namespace`, 'service account').trim(),
    name: 'the service account of this pod',
  }
}
