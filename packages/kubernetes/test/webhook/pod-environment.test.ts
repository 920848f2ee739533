import { expect, test } from 'vitest'
import {
  ASK,
  type Cluster,
  judge,
  podOf,
  type StagedWebhook,
  startCluster,
} from '../../../../test/support/cluster.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const opened = closers()

async function start(options: object): Promise<{ cluster: Cluster; staged: StagedWebhook }> {
  const cluster = opened(await startCluster('api'))
  const staged = opened(await startSquall({ webhook: options, client: cluster.client }))
  return { cluster, staged }
}

/** Requests about reviews; the version of the cluster is asked for at the start. */
const asked = ({ api }: Cluster): readonly unknown[] =>
  api.seen.filter(({ path }) => path !== '/version')

test('a namespace that forbids injection is heeded once it can be read', async () => {
  const { cluster, staged } = await start({ readNamespaces: true })
  cluster.api.put('/api/v1/namespaces/shop', {
    metadata: { labels: { 'squall.dev/injection': 'disabled' } },
  })
  const verdict = await judge(staged.port, podOf(ASK))
  expect(verdict).toMatchObject({ allowed: true })
  expect(verdict.warnings?.[0]).toContain('squall.dev/injection=disabled')
})

test('defaults of the namespace are used, and asked for once in a while only', async () => {
  const { cluster, staged } = await start({ readNamespaces: true })
  cluster.api.put('/api/v1/namespaces/shop', {
    metadata: { annotations: { 'squall.dev/mode': 'port' } },
  })
  for (let i = 0; i < 5; i++) {
    expect((await judge(staged.port, podOf(ASK))).auditAnnotations).toEqual({
      injection: 'injected: port',
    })
  }
  expect(asked(cluster)).toHaveLength(1)
})

test('pods that do not ask cost the API server nothing', async () => {
  const { cluster, staged } = await start({ readNamespaces: true, readServices: true })
  await judge(staged.port, podOf())
  expect(asked(cluster)).toHaveLength(0)
})

test('without the right to read, pods that ask are refused with the right that is missing', async () => {
  const { cluster, staged } = await start({ readNamespaces: true })
  cluster.api.denied.add('get namespaces')
  await expect(judge(staged.port, podOf(ASK))).rejects.toThrow(
    /^500: squall: the webhook cannot read namespaces "shop": .*give tester a ClusterRole with apiGroups: \[""\], resources: \["namespaces"\], verbs: \["get"\]/,
  )
  expect(await judge(staged.port, podOf())).toMatchObject({ allowed: true })
  expect(
    await staged.metric('squall_injections_total', {
      result: 'failed',
      reason: 'namespace_unreadable',
    }),
  ).toBe(1)
  cluster.api.denied.clear()
  cluster.api.put('/api/v1/namespaces/shop', {})
  expect(await judge(staged.port, podOf(ASK))).toMatchObject({ allowed: true })
})

test('Services that bypass the sidecar are reported', async () => {
  const { cluster, staged } = await start({ readServices: true })
  cluster.api.put('/api/v1/namespaces/shop/services/shop', {
    spec: { selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 3000 }] },
  })
  const verdict = await judge(staged.port, podOf({ ...ASK, 'squall.dev/mode': 'port' }))
  const said = [...(verdict.warnings ?? []), verdict.status?.message].join(' ')
  expect(said).toContain('shop')
  expect(said).toContain('3000')
})
