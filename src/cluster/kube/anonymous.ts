import { isIPv6 } from 'node:net'
import { createKubeClient, type KubeClient } from './kube-client.ts'
import { readKubeFile } from './kube-file.ts'

/**
 * Returns a client that shows no credentials, for what everybody may read; undefined outside of a
 * cluster. The API server is trusted by the CA in the file alone. Throws a `KubeError` where the
 * file cannot be read.
 */
export function anonymousClient(
  env: Readonly<Record<string, string | undefined>>,
  caFile: string,
  version: string,
): KubeClient | undefined {
  const host = env['KUBERNETES_SERVICE_HOST']
  if (host === undefined || host === '') return undefined
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443'
  return createKubeClient(
    {
      server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
      tls: { ca: readKubeFile(caFile, 'CA of the cluster'), insecure: false },
      credentials: { get: () => Promise.resolve({}) },
      namespace: '',
      name: 'the API server',
    },
    `squall/${version}`,
  )
}
