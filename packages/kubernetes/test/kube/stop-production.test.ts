// part: slow
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Seen, type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'

const opened = closers()
const TIMEOUT = ['--timeout', '1s'] as const

async function start(labels: object, annotations = {}): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop', labels, annotations } })
  return shop
}

test('squall stop --production stops a namespace that is labelled production, and no other', async () => {
  const shop = await start({ environment: 'staging' })
  await shop.addPod('shop-1')
  expect(await shop.stop('--production')).toMatchObject({
    code: 0,
    out: 'no sidecar runs in a production namespace without allow-production\n',
  })
  expect(shop.rules()).toEqual({})
  shop.api.put('/api/v1/namespaces/shop', {
    metadata: { name: 'shop', labels: { environment: 'prod' } },
  })
  const before = shop.api.seen.length
  const dry = await shop.stop('--production', '--dry-run')
  expect(dry.out).toContain('configmap squall-rules in shop: would be stopped')
  const writes = shop.api.seen.slice(before).filter(({ path }) => path.includes('/configmaps'))
  const isReal = ({ method, query }: Seen): boolean => method !== 'GET' && !query.has('dryRun')
  expect(writes.filter(isReal)).toEqual([])
  shop.api.store.delete('/api/v1/namespaces/shop/configmaps/squall-rules')
  const { code, out } = await shop.stop('--production')
  expect(out).toContain(
    'configmap squall-rules in shop: stopped\nstopped: confirmed by 1 of 1 pods',
  )
  expect(code).toBe(0)
})

test('squall stop --production fails again while a sidecar has not stopped, and writes nothing more', async () => {
  const shop = await start({ environment: 'production' })
  await shop.addPod('shop-1', { isDeaf: true })
  expect(await shop.stop('--production', ...TIMEOUT)).toMatchObject({ code: 1 })
  const written = shop.api.seen.length
  const { code, out } = await shop.stop('--production', ...TIMEOUT)
  expect(out).toContain('configmap squall-rules in shop: unchanged')
  expect(out).toContain('stopped: confirmed by 0 of 1 pods')
  expect(code).toBe(1)
  const later = shop.api.seen.slice(written).map(({ method }) => method)
  expect(later).not.toContain('PATCH')
})

test('squall stop --production stops the namespace of a variable alone, as that of the flag', async () => {
  const shop = await start({ environment: 'production' })
  await shop.addPod('shop-1')
  shop.api.put('/api/v1/namespaces/cart', { metadata: { name: 'cart' } })
  const args = ['stop', '--production', '--kubeconfig', shop.kubeconfig]
  for (const [more, env] of [
    [['-n', 'cart'], {}],
    [[], { SQUALL_NAMESPACE: 'cart' }],
  ] as const) {
    const { code, stdout } = await startProgram([...args, ...more], env, { here: true })
    expect(stdout).toBe('no sidecar runs in a production namespace without allow-production\n')
    expect(code).toBe(0)
  }
  expect(shop.rules()).toEqual({})
})

test('squall stop --production leaves a namespace whose owner allows faults', async () => {
  const shop = await start({ environment: 'prod' }, { 'squall.dev/allow-production': 'true' })
  await shop.addPod('shop-1')
  expect(await shop.stop('--production')).toMatchObject({ code: 0 })
  expect(shop.rules()).toEqual({})
})

test('squall stop --production fails where pods or labels of namespaces cannot be read', async () => {
  const shop = await start({ environment: 'prod' })
  await shop.addPod('shop-1')
  shop.api.denied.add('get namespaces')
  const unread = await shop.stop('--production')
  expect(unread.out).toBe('nothing was stopped: the production namespaces are unknown\n')
  expect(unread.code).toBe(1)
  shop.api.denied.add('list pods')
  const unlisted = await shop.stop('--production', '-n', 'shop')
  expect(unlisted.err).toContain('list')
  expect(unlisted.code).toBe(1)
})
