// part: slow
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { podsStage } from './pods-stage.ts'

const opened = closers()
const KILL = { kill: { pod: 1, restartWithin: '15s' }, hold: '3s' }
const STEADY = { errors: '20%', for: '300ms', within: '20s' }

test('kill.pod evicts, and tries again while a PodDisruptionBudget blocks', async () => {
  const stage = opened(await podsStage())
  const { before } = stage.shop.api
  let blocked = 0
  stage.shop.api.before = async (seen) => {
    if (!seen.path.endsWith('/eviction')) return before(seen)
    if (++blocked < 3) return 429
    stage.remove('shop-1')
    await stage.add('shop-9')
    return undefined
  }
  const result = await stage.run({ ...KILL, steadyState: STEADY })
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
  expect(blocked).toBe(3)
  expect(stage.shop.api.seen.find(({ path }) => path.endsWith('/eviction'))).toMatchObject({
    method: 'POST',
    path: '/api/v1/namespaces/shop/pods/shop-1/eviction',
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'shop-1' } },
  })
})

test('an eviction that stays blocked fails its stage, and force deletes', async () => {
  const stage = opened(await podsStage())
  const { before } = stage.shop.api
  stage.shop.api.before = (seen) => (seen.path.endsWith('/eviction') ? 429 : before(seen))
  const result = await stage.run(KILL)
  expect(result).toMatchObject({ verdict: 'failed', code: 'NOT_RESTARTED', restored: true })
  expect(result.why).toContain('cannot evict pods "shop-1" in namespace "shop"')
  expect(stage.shop.api.store.has('/api/v1/namespaces/shop/pods/shop-1')).toBe(true)
  stage.shop.api.before = async (seen) => {
    if (seen.method === 'DELETE' && seen.path.endsWith('/shop-1')) {
      stage.remove('shop-1')
      await stage.add('shop-9')
    }
    return before(seen)
  }
  const forced = await stage.run({
    ...KILL,
    kill: { ...KILL.kill, force: true },
    steadyState: STEADY,
  })
  expect(forced).toMatchObject({ verdict: 'passed', restored: true })
})
