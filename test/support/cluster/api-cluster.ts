import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { ClusterAccess } from '../../../packages/kubernetes/src/kube/cluster-access.ts'
import { KubeClient } from '../../../packages/kubernetes/src/kube/kube-client.ts'
import { type ApiServer, apiServer } from './api-server.ts'

/** An API server with a kubeconfig that leads to it. */
export interface Cluster {
  readonly api: ApiServer
  readonly directory: string
  readonly kubeconfig: string
  readonly client: KubeClient
  close(): Promise<void>
}

/** A token that no message may show. */
export const TOKEN = 'a-token-that-nobody-may-see'

/** Starts an API server that knows one token, and has one namespace. */
export async function apiCluster(namespace = 'shop'): Promise<Cluster> {
  const api = await apiServer()
  api.tokens.add(TOKEN)
  api.put(`/api/v1/namespaces/${namespace}`, { metadata: { name: namespace } })
  const directory = await mkdtemp(join(tmpdir(), 'squall-kube-'))
  const kubeconfig = join(directory, 'config')
  const user = { token: TOKEN }
  await writeFile(kubeconfig, kubeconfigText(api, user, namespace))
  const client = new KubeClient(accessTo(api, namespace), 'squall/test')
  return {
    api,
    directory,
    kubeconfig,
    client,
    close: async () => {
      await client.close()
      await api.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Access to the server without a kubeconfig. */
export function accessTo(api: ApiServer, namespace: string): ClusterAccess {
  return {
    server: new URL(api.url),
    tls: { ca: api.ca, insecure: false },
    credentials: () => Promise.resolve({ token: TOKEN }),
    namespace,
    name: 'context "test"',
  }
}

/** A kubeconfig with one context. */
export function kubeconfigText(api: ApiServer, user: object, namespace = 'shop'): string {
  const ca = Buffer.from(api.ca).toString('base64')
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'cluster', cluster: { server: api.url, 'certificate-authority-data': ca } }],
    contexts: [{ name: 'test', context: { cluster: 'cluster', user: 'tester', namespace } }],
    users: [{ name: 'tester', user }],
  })
}
