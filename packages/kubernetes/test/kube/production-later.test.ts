// part: slow
import { expect, test } from 'vitest'
import { namespaceLabels } from '../../../experiments/src/operations/run-here.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'

// A namespace that was labelled production after its pods were injected: their sidecars stay armed,
// and nobody was told. An experiment asked the sidecar alone, which knows no labels of namespaces.
const opened = closers()

const namespace = (labels: object, annotations = {}): object => ({
  metadata: { name: 'shop', labels, annotations },
})

async function start(): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  await shop.addPod('shop-2')
  return shop
}

function put(shop: Pick<Shop, 'api'>, labels: object, annotations = {}): void {
  shop.api.put('/api/v1/namespaces/shop', { ...namespace(labels, annotations) })
}

test('squall status names the armed sidecars of a namespace that is production now, and fails', async () => {
  const shop = await start()
  put(shop, { environment: 'staging' })
  expect(await shop.status()).toMatchObject({ code: 0 })
  put(shop, { environment: 'Prod-EU' })
  const { code, out } = await shop.status()
  expect(code).toBe(1)
  expect(out).toContain(
    `production: 2 sidecars are armed in namespace shop: the label environment of the namespace shop, "Prod-EU" counts as production (it matches prod*); end faults with npx mcp-squall stop -n shop --kubeconfig ${shop.kubeconfig}\n`,
  )
  const json = JSON.parse((await shop.status('--json')).out) as { ok: boolean; production: object }
  expect(json).toMatchObject({ ok: false, production: [{ namespace: 'shop', armed: 2 }] })
  const all = [
    '-n',
    'shop',
    '--annotation-prefix',
    'chaos.dev/',
    '--as',
    'bob',
    '--as-group',
    'a b',
  ]
  const flags = `--kubeconfig ${shop.kubeconfig} --as bob --as-group 'a b' --annotation-prefix chaos.dev/`
  expect((await shop.status(...all)).out).toContain(`mcp-squall stop -n shop ${flags}\n`)
  expect(await shop.status('--production-names', 'kund')).toMatchObject({ code: 0 })
  expect(await shop.status('--environment-label', 'stage')).toMatchObject({ code: 0 })
})

test('squall status accepts production that the owner of the namespace allows, and says so', async () => {
  const shop = await start()
  put(shop, { environment: 'prod' }, { 'squall.dev/allow-production': 'true' })
  const { code, out } = await shop.status()
  expect(code).toBe(0)
  expect(out).toContain(
    'production: 2 sidecars are armed in namespace shop, which its owner allows',
  )
})

test('squall status says once that labels of namespaces cannot be read', async () => {
  const shop = await start()
  shop.api.denied.add('get namespaces')
  const { code, out } = await shop.status()
  expect(code).toBe(0)
  expect(out.match(/cannot check whether the label environment of namespaces/g)).toHaveLength(1)
})

test('an experiment is rejected where the namespace of the sidecar is labelled production', async () => {
  const cluster = opened(await startCluster('api'))
  const flags = ['--environment', 'staging']
  const stage = opened(await startSquall({ experiment: { flags, env: { POD_NAMESPACE: 'shop' } } }))
  const { kubeconfig } = cluster
  const warnings: string[] = []
  const source = { kubeconfig, context: undefined, environmentLabel: 'environment', env: {} }
  const namespaceLabel = namespaceLabels(source, (text) => warnings.push(text))
  put(cluster, { environment: 'production' })
  expect(await stage.rejected({}, { namespaceLabel })).toEqual(['PRODUCTION'])
  expect(warnings).toEqual([])
  put(cluster, {})
  const never = { steadyState: { p50: '0.001ms' } }
  expect(await stage.rejected(never, { namespaceLabel })).toEqual(['NOT_STEADY'])
  cluster.api.denied.add('get namespaces')
  expect(await stage.rejected(never, { namespaceLabel })).toEqual(['NOT_STEADY'])
  expect(warnings.join()).toContain('only the namespace name shop was checked')
})

test('a sidecar knows its namespace, and arms in none whose name is production', async () => {
  const flags = ['--environment', 'staging']
  const env = { POD_NAMESPACE: 'shop-prod' }
  const stage = opened(await startSquall({ experiment: { flags, env } }))
  const state = (await (await fetch(`${stage.squall.admin}/api/state`)).json()) as object
  expect(state).toMatchObject({ namespace: 'shop-prod', armed: false })
  expect(await stage.rejected()).toEqual(['PRODUCTION', 'SIDECAR_DISARMED'])
})
