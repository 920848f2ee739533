import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connectKube } from '../../src/kube/connect.ts'
import { NAMESPACES } from '../../src/kube/resources.ts'
import {
  type Cluster,
  kubeconfigText,
  startCluster,
  TOKEN,
} from '../../../../test/support/cluster.ts'

/** A name that only the proxy resolves. */
export const SERVER = 'https://api.example.test:6443'

/** An API server with a namespace to read; the caller closes it. */
export async function stage(): Promise<Cluster> {
  const cluster = await startCluster('api')
  cluster.api.put('/api/v1/namespaces/shop', {})
  return cluster
}

/** Writes a kubeconfig that names the API server as only a proxy finds it. */
export async function configOf(cluster: Cluster, more = '', server = SERVER): Promise<string> {
  const file = join(cluster.directory, 'proxied')
  const text = kubeconfigText(cluster.api, { token: TOKEN })
  const name = `server: ${server}\n      tls-server-name: localhost${more}`
  await writeFile(file, text.replace(`server: ${cluster.api.url}`, name))
  return file
}

/** Reads the namespace; returns `read`, or why it failed. */
export async function read(kubeconfig: string, env: Record<string, string> = {}): Promise<string> {
  const client = connectKube({ kubeconfig, context: undefined, env, version: 'test' })
  try {
    await client.get({ kind: NAMESPACES, name: 'shop' })
    return 'read'
  } catch (error) {
    return (error as Error).message
  } finally {
    await client.close()
  }
}
