import { expect, test } from 'vitest'
import { accessTo, ASK, judge, podOf, startCluster } from '../../../../test/support/cluster.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { KubeClient } from '../../src/kube/kube-client.ts'
import { ClusterVersion } from '../../src/webhook/cluster-version.ts'
import { startSquall } from '../../../../test/support/commands.ts'

// A manifest that is rendered once says one version for ever. On a cluster that has native sidecars
// Jobs were denied then, and others ran without them.

const opened = closers()
const METRIC = 'squall_webhook_kubernetes_minor'

/** A pod as a Job makes it. */
function podOfJob(): object {
  const pod = podOf(ASK)
  const controller = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    name: 'load',
    uid: '1',
    controller: true,
  }
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [controller] } }
}

test('the version that the API server says outweighs the flag, without credentials', async () => {
  const { api } = opened(await startCluster('api'))
  api.tokens.clear()
  api.put('/version', { major: '1', minor: '34+', gitVersion: 'v1.34.4-gke.1' })
  const access = { ...accessTo(api, ''), credentials: () => Promise.resolve({}) }
  const client = new KubeClient(access, 'squall/test')
  const staged = opened(
    await startSquall({ webhook: { minor: 28, versionClient: () => Promise.resolve(client) } }),
  )
  expect(await judge(staged.port, podOfJob())).toMatchObject({ allowed: true })
  expect(await staged.metric(METRIC, { source: 'api_server' })).toBe(34)
  expect(staged.lines.find(({ msg }) => msg === 'version of Kubernetes')).toMatchObject({
    version: '1.34',
    source: 'api_server',
  })
  expect(api.seen.map(({ path, token }) => [path, token])).toEqual([['/version', '']])
})

test.each([
  ['is not to be had', undefined],
  ['is none of 1.x', { major: '2', minor: '0' }],
  ['is no version', { major: 1, minor: { length: 1 } }],
])('the flag holds where the version %s, and the log says so', async (_, response) => {
  const { api, client } = opened(await startCluster('api'))
  if (response !== undefined) api.put('/version', response)
  const staged = opened(
    await startSquall({ webhook: { minor: 28, versionClient: () => Promise.resolve(client) } }),
  )
  expect(await judge(staged.port, podOfJob())).toMatchObject({ allowed: false })
  expect(await staged.metric(METRIC, { source: 'flag' })).toBe(28)
  const line = staged.lines.find(({ msg }) => msg === 'version of Kubernetes')
  expect(line).toMatchObject({ version: '1.28', source: 'flag', detail: expect.any(String) })
})

test('an upgrade of the cluster is noticed, and an outage forgets nothing', async () => {
  const { api, client } = opened(await startCluster('api'))
  api.put('/version', { major: '1', minor: '33' })
  const told: string[] = []
  const quiet = (): void => undefined
  const version = opened(
    new ClusterVersion({
      client,
      fallback: 30,
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      metrics: { clusterVersion: (minor, source) => void told.push(`${minor} ${source}`) },
      refreshMs: 20,
    }),
  )
  await version.start()
  expect(version.minor).toBe(33)
  api.before = () => 503
  const before = api.seen.length
  await eventually(() => (api.seen.length > before + 2 ? undefined : 'not asked again yet'))
  expect(version.minor).toBe(33)
  api.put('/version', { major: '1', minor: '34' })
  api.before = () => undefined
  await eventually(() => (version.minor === 34 ? undefined : 'still another'))
  expect(told.at(-1)).toBe('34 api_server')
})
