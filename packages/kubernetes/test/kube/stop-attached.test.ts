import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()
const POD = '/api/v1/namespaces/shop/pods/plain-1'
const RUNNING = { name: 'squall-attach-1', state: { running: {} } }
const ENDED = ['squall-attach-1', 'squall-detach-1'].map((name) => ({
  name,
  state: { terminated: { exitCode: 0, message: 'released' } },
}))

/** A pod with a label and an attached sidecar, whose kubelet starts the container that ends it. */
async function start(): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  shop.api.put(POD, {
    metadata: { uid: 'plain', labels: { app: 'plain', 'squall.dev/sidecar': 'attached' } },
    spec: {
      containers: [{ name: 'app' }],
      ephemeralContainers: [{ name: 'squall-attach-1', image: 'squall:1' }],
    },
    status: { phase: 'Running', ephemeralContainerStatuses: [RUNNING] },
  })
  const { before } = shop.api
  shop.api.before = (seen) => {
    const { query, path } = seen
    const pod = shop.api.store.get(POD)!
    const { ephemeralContainers } = pod['spec'] as { ephemeralContainers: readonly object[] }
    if (path === POD && ephemeralContainers.length === 2 && !query.has('dryRun')) {
      shop.api.put(POD, { ...pod, status: { phase: 'Running', ephemeralContainerStatuses: ENDED } })
    }
    return before(seen)
  }
  return shop
}

const detaching = ({ api }: Shop): readonly unknown[] =>
  api.seen.filter(({ path }) => path.endsWith('/ephemeralcontainers'))

test('squall stop ends an attached sidecar, and takes its label away', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  const dry = await shop.stop('-n', 'shop', '--dry-run')
  expect(dry.out).toContain('shop/plain-1: skipped, would be stopped')
  expect(detaching(shop)).toEqual([])
  const { code, out } = await shop.stop('-A')
  expect(out).toContain('stopped: confirmed by 2 of 2 pods')
  expect(code).toBe(0)
  expect(detaching(shop)).toHaveLength(1)
  const { metadata } = shop.api.store.get(POD) as { metadata: { labels: object } }
  expect(metadata.labels).toEqual({ app: 'plain' })
  const events = [...shop.api.store].filter(([path]) => path.includes('/events/'))
  expect(JSON.stringify(events)).toContain('a sidecar was detached by tester')
})

test('squall stop fails where it may not end an attached sidecar, and says why', async () => {
  const shop = await start()
  shop.api.denied.add('patch pods/ephemeralcontainers')
  const { code, out } = await shop.stop('-n', 'shop')
  expect(out).toMatch(/shop\/plain-1: unconfirmed, cannot attach to pod "plain-1".*is forbidden/)
  expect(code).toBe(1)
})

test('squall resume leaves an attached sidecar', async () => {
  const shop = await start()
  const { code, out } = await shop.resume('-n', 'shop')
  expect(out).toContain('shop/plain-1: skipped, attached: it does not read the stop key')
  expect(code).toBe(0)
  expect(detaching(shop)).toEqual([])
})
