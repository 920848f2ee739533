import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()
const MANY = 50
const EXAMPLE = fileURLToPath(new URL('../../../../examples/fan-out.yaml', import.meta.url))

test('status sums up pods that need more than 40 lines, those in trouble first, and --all lists each', async () => {
  const shop = opened(await startCluster('shop'))
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  await shop.addPod('shop-1')
  for (let i = 0; i < MANY; i++) shop.addPaper(`new-${i}`)
  const summed = (await shop.status('-n', 'shop')).out
  expect(summed).toMatch(new RegExp(`^shop +${MANY} pods +redirect +starting `, 'm'))
  expect(summed).toMatch(/^shop +shop-1 +redirect +armed /m)
  expect(summed).toContain(
    `shop/new-0, shop/new-1, shop/new-10 and ${MANY - 3} more: its sidecar is not running yet\n`,
  )
  expect(summed.trimEnd().split('\n')).toHaveLength(5)
  const { out } = await shop.status('-n', 'shop', '--all')
  for (let i = 0; i < MANY; i++) expect(out).toMatch(new RegExp(`^shop +new-${i} `, 'm'))
})

test('status of pods that differ keeps to 40 lines, and says how many it leaves out', async () => {
  const shop = opened(await startCluster('shop'))
  for (let i = 0; i < MANY; i++) {
    const status = JSON.stringify({ mode: `mode-${i}`, warnings: [`warning ${i}`] })
    shop.addPaper(`new-${i}`, {})
    const path = `/api/v1/namespaces/shop/pods/new-${i}`
    const pod = shop.api.store.get(path)!
    const metadata = pod['metadata'] as { annotations: object }
    const annotations = { ...metadata.annotations, 'squall.dev/status': status }
    shop.api.put(path, { ...pod, metadata: { ...metadata, annotations } })
  }
  const { out } = await shop.status('-n', 'shop')
  expect(out.trimEnd().split('\n')).toHaveLength(40)
  expect(out).toContain('and 32 more groups of pods\n')
  expect(out).toContain('and 33 more notes; --all lists each pod\n')
})

test('status, stop, resume and apply name a namespace that does not exist', async () => {
  const shop = opened(await startCluster('shop'))
  const missing = 'the namespace "typo" does not exist; check -n and --context'
  const status = await shop.status('-n', 'typo')
  expect(status).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining(missing) as string,
  })
  expect((await shop.apply('-n', 'typo', '-f', EXAMPLE)).err).toContain(missing)
  expect((await shop.stop('-n', 'typo', '--timeout', '1s')).err).toContain(missing)
  expect((await shop.resume('-n', 'typo', '--timeout', '1s')).err).toContain(missing)
  // Without the right to read namespaces, nothing is known.
  shop.api.denied.add('get namespaces')
  expect((await shop.status('-n', 'typo')).err).toBe('')
})
