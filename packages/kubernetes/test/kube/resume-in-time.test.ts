// part: slow
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()

/** Starts two pods that are stopped, each with a ConfigMap. */
async function stopped(): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  await shop.addPod('shop-1')
  await shop.addPod('shop-2', { annotations: { 'squall.dev/rules': 'other' } })
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  return shop
}

test('a resume that runs into its time limit names the pods that resumed, and the others', async () => {
  const shop = await stopped()
  const hanging = opened(await startUpstream(createServer(() => undefined)))
  shop.api.sidecars.set('shop/shop-2', `http://127.0.0.1:${hanging.port}`)
  const { code, out } = await shop.resume('-n', 'shop', '--timeout', '4s')
  expect(code).toBe(1)
  expect(out).toMatch(
    /^resumed: confirmed by 1 of 2 pods\n {2}shop\/shop-2: waiting, .* did not respond.*\n {2}shop\/shop-1: resumed, armed\n$/m,
  )
})

test('a resume whose time is over when its changes are written confirms no pod, and fails', async () => {
  const shop = await stopped()
  const { before } = shop.api
  let requests = 0
  shop.api.before = async (seen) => {
    // The last read and the write are each in time, but not both of them together.
    if (seen.path.endsWith('/configmaps/other') && ++requests > 1) await sleep(600)
    return before(seen)
  }
  const { code, out } = await shop.resume('-n', 'shop', '--timeout', '1s')
  expect(code).toBe(1)
  expect(out).toMatch(
    /^resumed: confirmed by 0 of 2 pods\n {2}shop\/shop-1: .*\n {2}shop\/shop-2: /m,
  )
})
