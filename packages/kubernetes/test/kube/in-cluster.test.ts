import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inClusterAccess } from '../../src/kube/connect.ts'
import { KubeClient } from '../../src/kube/kube-client.ts'
import { NAMESPACES } from '../../src/kube/resources.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster, TOKEN } from '../../../../test/support/cluster.ts'

const opened = closers()
const PLACE = { kind: NAMESPACES, name: 'shop' }

test('a pod uses its service account, and reads its token again', async () => {
  const cluster = opened(await startCluster('api'))
  cluster.api.put('/api/v1/namespaces/shop', {})
  const directory = join(cluster.directory, 'account')
  await mkdir(directory)
  await writeFile(join(directory, 'token'), 'old-token')
  await writeFile(join(directory, 'ca.crt'), cluster.api.ca)
  await writeFile(join(directory, 'namespace'), 'chaos')
  const env = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(cluster.api.port),
  }
  const client = new KubeClient(inClusterAccess(env, directory)!, 'test')
  expect(client.namespace).toBe('chaos')
  await expect(client.get(PLACE)).rejects.toThrow(/rejected the credentials/)
  await writeFile(join(directory, 'token'), TOKEN)
  await client.get(PLACE)
  await client.close()
  expect(inClusterAccess({}, directory)).toBeUndefined()
  expect(inClusterAccess(env, '/nowhere')).toBeUndefined()
})
