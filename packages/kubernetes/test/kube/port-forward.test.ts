import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'

// The API server's proxy does not reach a sidecar, or may not be used: its port is forwarded.
const opened = closers()
const PROXY = /\/pods\/[^/]+:\d+\/proxy\//

it('replaces the proxy without the right to it, and where it fails', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.denied.add('get pods/proxy')
  expect(await shop.status()).toMatchObject({ code: 0 })
  shop.api.denied.clear()
  let proxied = 0
  shop.api.before = ({ path }) => (PROXY.test(path) ? (proxied++, 503) : undefined)
  expect(await shop.status()).toMatchObject({ code: 0 })
  // State and rules are asked for; that the proxy fails is learnt once.
  expect(proxied).toBe(1)
})

it('says why neither way leads to the sidecar', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.denied.add('get pods/proxy').add('create pods/portforward')
  const denied = await shop.status()
  expect(denied.code).toBe(1)
  expect(denied.out).toMatch(
    /cannot get resource "pods\/proxy".*through port-forward: cannot query/,
  )
  shop.api.denied.delete('create pods/portforward')
  shop.api.unforwarded.set('shop/shop-1', 'error forwarding port 15390 to pod: refused')
  const refused = await shop.status()
  expect(refused.code).toBe(1)
  expect(refused.out).toContain('the forwarded port failed: error forwarding port 15390 to pod')
})

it('reads no more than a sidecar has to say', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.denied.add('get pods/proxy')
  shop.api.unforwarded.set('shop/shop-1', 'x'.repeat(5 * 1024 * 1024))
  const { code, out } = await shop.status()
  expect(code).toBe(1)
  expect(out).toContain('it sent more than')
  expect(out.length).toBeLessThan(2_000)
})
