import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()
const PODS = '/api/v1/namespaces/shop/pods'

test('squall stop asks the API server for injected pods only, and for all with --unlabelled', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  await shop.addPod('older')
  const pod = shop.api.store.get(`${PODS}/older`)!
  shop.api.put(`${PODS}/older`, {
    ...pod,
    metadata: { ...(pod['metadata'] as object), labels: {} },
  })
  const stopped = await shop.stop('-n', 'shop')
  expect(stopped).toMatchObject({ code: 0 })
  expect(stopped.out).toContain('stopped: confirmed by 1 of 1 pods')
  const listed = shop.api.seen.filter(({ method, path }) => method === 'GET' && path === PODS)
  const labels = listed.map(({ query }) => query.get('labelSelector'))
  expect(new Set(labels)).toEqual(new Set(['squall.dev/sidecar']))
  const all = await shop.stop('-n', 'shop', '--unlabelled')
  expect(all.out).toContain('stopped: confirmed by 2 of 2 pods')
})

test.each([
  ['that has ended', {}, { phase: 'Failed', reason: 'Evicted' }],
  ['whose label declines the sidecar', { 'squall.dev/inject': 'false' }, { phase: 'Running' }],
])('squall status expects no sidecar in a pod %s', async (_, labels, status) => {
  const shop = opened(await startCluster('shop'))
  const metadata = { labels, annotations: { 'squall.dev/inject': 'true' } }
  shop.api.put(`${PODS}/shop-1`, { metadata, status })
  const { code, out } = await shop.status('-n', 'shop')
  expect(code, out).toBe(0)
  expect(out).toContain('no pod in shop has or requests a sidecar')
})

test('the label of the injector is added to the labels of --selector', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  await shop.addPod('other', { labels: { app: 'other' } })
  const { out } = await shop.stop('-n', 'shop', '-l', 'app=other')
  expect(out).toContain('stopped: confirmed by 1 of 1 pods')
  const { query } = shop.api.seen.find(({ method, path }) => method === 'GET' && path === PODS)!
  expect(query.get('labelSelector')).toBe('app=other,squall.dev/sidecar')
})
