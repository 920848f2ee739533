import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()

// The emergency stop without Squall at hand leaves an empty key.
test('an empty stop key stops all pods until squall resume removes it', async () => {
  const shop = opened(await startCluster('shop'))
  shop.addPaper('shop-1')
  shop.api.put('/api/v1/namespaces/shop/configmaps/squall-rules', {
    metadata: { name: 'squall-rules', namespace: 'shop' },
    data: { 'squall-stop': '' },
  })
  const stopped = await shop.stop('-n', 'shop', '-l', 'app=shop')
  expect(stopped.out).toContain('configmap squall-rules in shop: unchanged')
  expect(stopped.out).toContain(
    `to resume: npx mcp-squall resume -n shop --kubeconfig ${shop.kubeconfig}\n`,
  )
  const { code, out } = await shop.resume('-n', 'shop')
  expect(out).toContain('configmap squall-rules in shop: resumed')
  expect(code).toBe(0)
  expect(shop.rules()).toEqual({ 'squall-stop': '{"stops":[]}\n' })
})

test('a stop key among the binary data does not prevent a stop', async () => {
  const shop = opened(await startCluster('shop'))
  const path = '/api/v1/namespaces/shop/configmaps/squall-rules'
  shop.api.put(path, {
    metadata: {},
    data: {},
    binaryData: { 'squall-stop': 'AAEC', other: 'AAEC' },
  })
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  expect(shop.rules()).toHaveProperty('squall-stop')
  // The API server rejects a key that is in both.
  expect(shop.api.store.get(path)).toMatchObject({ binaryData: { other: 'AAEC' } })
  expect(shop.api.store.get(path)).not.toHaveProperty(['binaryData', 'squall-stop'])
})
