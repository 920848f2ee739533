// part: slow-nightly
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { during, podsStage, type PodsStage } from './pods-stage.ts'

const opened = closers()
const POD = '/api/v1/namespaces/shop/pods/silent-1'

async function start(): Promise<PodsStage> {
  return opened(await podsStage())
}

/** Adds a pod whose sidecar accepts connections and does not respond. */
async function addSilent(stage: PodsStage, isReady: boolean): Promise<void> {
  const { shop } = stage
  shop.addPaper('silent-1', { sidecar: { running: { startedAt: 'now' } } })
  await silence(stage, 'silent-1')
  const pod = shop.api.store.get(POD)!
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  shop.api.put(POD, { ...pod, status: { ...(pod['status'] as object), conditions } })
}

async function silence({ shop }: PodsStage, name: string): Promise<void> {
  const hanging = opened(await startUpstream(createServer(() => undefined)))
  shop.api.sidecars.set(`shop/${name}`, `http://127.0.0.1:${hanging.port}`)
}

function responding(min: number) {
  const kubernetes = { namespace: 'shop', selector: { app: 'shop' }, min: `${min}%` }
  return { sidecar: { kubernetes, expiry: '5s' } }
}

test('an experiment starts beside a pod that is not ready and does not respond', async () => {
  const stage = await start()
  await addSilent(stage, false)
  expect(await stage.run()).toMatchObject({ verdict: 'passed', restored: true })
})

test('an experiment is rejected where fewer ready pods than min respond', async () => {
  const stage = await start()
  await addSilent(stage, true)
  const rejected = await stage.rejected(responding(67))
  expect(rejected.join('\n')).toMatch(/silent-1/)
  expect(await stage.run(responding(66))).toMatchObject({ verdict: 'passed', restored: true })
})

test('an experiment goes on when a sidecar stops responding in a stage', async () => {
  const stage = await start()
  await stage.add('shop-3')
  const onEvent = during('20%', () => void silence(stage, 'shop-3'))
  const result = await stage.run({ ...responding(66), hold: '40s' }, { onEvent })
  expect(result).toMatchObject({ verdict: 'passed', restored: true })
})
