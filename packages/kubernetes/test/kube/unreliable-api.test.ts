// part: slow
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Seen, type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { Random } from '../../../../test/support/random.ts'
import { stalledMs } from '../../../../test/support/stalls.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()

async function start(): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  return shop
}

/** Lets requests fail with a status, as long as `fails` says so. */
function failing(shop: Shop, status: number, fails: (seen: Seen) => boolean): void {
  const { before } = shop.api
  shop.api.before = (seen) => (fails(seen) ? status : before(seen))
}

const isWrite = ({ method, path }: Seen): boolean =>
  method === 'PATCH' && path.endsWith('/configmaps/squall-rules')

test.each([429, 503, 504])('squall stop repeats a write that gets %i', async (status) => {
  const shop = await start()
  await shop.addPod('shop-1')
  let failures = 0
  failing(shop, status, (seen) => isWrite(seen) && failures++ < 2)
  const { code, out } = await shop.stop('-n', 'shop')
  expect(out).toContain(
    'configmap squall-rules in shop: stopped\nstopped: confirmed by 1 of 1 pods',
  )
  expect(code).toBe(0)
  expect(failures).toBeGreaterThan(2)
})

test('squall stop repeats a write that fails for another reason, and has the pods confirm', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  let failures = 0
  // As while a webhook that checks ConfigMaps is away.
  failing(shop, 500, (seen) => isWrite(seen) && failures++ < 4)
  const { code, out } = await shop.stop('-n', 'shop')
  expect(out).toContain('stopped: confirmed by 1 of 1 pods')
  expect(code).toBe(0)
})

test('squall stop names the pods whose ConfigMap it may not write', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  shop.api.denied.add('patch configmaps')
  const { code, out } = await shop.stop('-n', 'shop')
  expect(out).toMatch(/^NOT stopped: /)
  expect(out).toContain('shop/shop-1: unconfirmed, its ConfigMap was not changed')
  expect(code).toBe(1)
})

test('squall stop -A has written what it listed when the list does not go on', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  await shop.addPod('shop-2')
  shop.addPaper('zoo')
  failing(shop, 503, ({ query }) => query.has('continue'))
  const { code, out, err } = await shop.stop('-A', '--timeout', '1s')
  expect(shop.rules()).toHaveProperty('squall-stop')
  expect(out).toContain('configmap squall-rules in shop: stopped')
  expect(err).toContain('pods with a sidecar are unknown')
  expect(code).toBe(1)
})

test('squall stop -A says NOT stopped when pods cannot be listed', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  shop.api.denied.add('list pods')
  const { code, out } = await shop.stop('-A')
  expect(out).toMatch(/^NOT stopped: the pods with a sidecar are unknown/)
  expect(out).not.toContain('confirmed by 0')
  expect(code).toBe(1)
})

test.each(['stop', 'resume'] as const)(
  'squall %s changes the ConfigMap and fails when the user may not list pods',
  async (action) => {
    const shop = await start()
    await shop.addPod('shop-1')
    if (action === 'resume') await shop.stop('-n', 'shop')
    shop.api.denied.add('list pods')
    const { code, out, err } = await shop[action]('-n', 'shop')
    expect(out).toMatch(/^configmap squall-rules in shop: (?:stopped|resumed)\n/)
    expect(out).not.toContain('confirmed by')
    expect(err).toMatch(/^warning: the pods with a sidecar are unknown: .*verbs: \["list"\]\n$/)
    expect(code).toBe(1)
    const json = await shop[action]('-n', 'shop', '--json')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, pods: [] })
  },
)

test('squall stop fails when the user may list pods no longer', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  let lists = 0
  failing(shop, 403, ({ method, path }) => {
    return method === 'GET' && path.endsWith('/pods') && ++lists > 1
  })
  const { code, out, err } = await shop.stop('-n', 'shop')
  expect(out).toContain('stopped: confirmed by 1 of 1 pods')
  expect(err).toContain('cannot list pods created in the meantime')
  expect(code).toBe(1)
})

test.each([['status'], ['apply', '-f', 'rules.yaml']] as const)(
  'squall %s fails when the user may not list pods',
  async (action, ...args) => {
    const shop = await start()
    await shop.addPod('shop-1')
    await writeFile(join(shop.directory, 'rules.yaml'), 'rules: []\n')
    shop.api.denied.add('list pods')
    const more = args.map((each) => each.replace('rules.yaml', join(shop.directory, 'rules.yaml')))
    const { code, out, err } = await shop[action]('-n', 'shop', ...more)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('cannot list pods')
    expect(shop.rules()).toEqual({})
  },
)

const ACTIONS = ['stop', 'resume', 'apply'] as const

/** Runs a command on a pod, whose rules or stop it has to change. */
async function act(action: (typeof ACTIONS)[number], disturb: (shop: Shop) => void): Promise<void> {
  const shop = await start()
  // The kubelet of this cluster does not take a key away again.
  if (action !== 'resume') await shop.addPod('shop-1')
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(
    file,
    'rules: [{ name: one, match: { tool: a }, faults: [abort: { status: 503 }] }]\n',
  )
  if (action === 'resume') await shop.stop('-n', 'shop')
  disturb(shop)
  const args = action === 'apply' ? ['-f', file] : []
  const { code, out, err } = await shop[action]('-n', 'shop', ...args)
  expect(code, out + err).toBe(0)
}

test.each(ACTIONS)('squall %s goes on when a fifth of all requests gets 503', (action) =>
  act(action, (shop) => {
    let requests = 0
    failing(shop, 503, ({ path }) => !path.includes('/proxy/') && ++requests % 5 === 1)
  }),
)

test.each(ACTIONS.flatMap((action) => [1, 2, 3, 4, 5].map((seed) => [action, seed] as const)))(
  'squall %s goes on when a tenth of all requests gets 429 or 503 (seed %i)',
  (action, seed) =>
    act(action, (shop) => {
      const random = new Random(seed)
      const { before } = shop.api
      shop.api.before = (seen) => (random.chance(0.1) ? random.pick([429, 503]) : before(seen))
    }),
)

test.each(ACTIONS)('squall %s goes on when idle connections close as it sends', (action) =>
  act(action, (shop) => {
    const { before } = shop.api
    shop.api.before = (seen) => {
      if (seen.nth !== 3) return before(seen)
      seen.cut()
      return undefined
    }
  }),
)

test.each(['stop', 'apply'] as const)(
  'squall %s goes on when the response to the creation of its ConfigMap is lost',
  (action) =>
    act(action, (shop) => {
      const { before } = shop.api
      let isLost = false
      shop.api.before = (seen) => {
        if (isLost || seen.method !== 'POST' || !seen.path.endsWith('/configmaps')) {
          return before(seen)
        }
        isLost = true
        shop.api.put(`${seen.path}/squall-rules`, seen.body)
        seen.cut()
        return undefined
      }
    }),
)

test('squall stop writes the key of the default ConfigMap before it lists pods', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  failing(shop, 503, ({ method, path }) => method === 'GET' && path.endsWith('/pods'))
  const { code, out, err } = await shop.stop('-n', 'shop', '--timeout', '1s')
  expect(shop.rules()).toHaveProperty('squall-stop')
  expect(out).toContain('configmap squall-rules in shop: stopped')
  expect(err).toContain('pods with a sidecar are unknown')
  expect(code).toBe(1)
})

test('squall stop says NOT stopped within its time when nothing could be written', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  failing(shop, 503, isWrite)
  const begun = performance.now()
  const { code, out } = await shop.stop('-n', 'shop', '--timeout', '1s')
  expect(performance.now() - begun).toBeLessThan(3_000)
  expect(out).toMatch(/^NOT stopped: the ConfigMap was not written/)
  expect(out).not.toContain('to resume: squall resume')
  expect(code).toBe(1)
  expect(shop.rules()).not.toHaveProperty('squall-stop')
})

test('squall stop ends in time although most sidecars do not respond', async () => {
  const shop = await start()
  await shop.addPod('shop-1')
  // Accepts connections, and does not respond.
  const silent = opened(await startUpstream(createServer(() => undefined)))
  const hanging = Array.from({ length: 40 }, (_, id) => `lost-${id}`)
  for (const name of hanging) {
    shop.addPaper(name, { sidecar: { running: { startedAt: 'now' } } })
    shop.api.sidecars.set(`shop/${name}`, `http://127.0.0.1:${silent.port}`)
  }
  const begun = performance.now() - stalledMs()
  const { code } = await shop.stop('-n', 'shop', '--timeout', '2s')
  expect(performance.now() - stalledMs() - begun).toBeLessThan(4_000)
  expect(code).toBe(1)
  const { out } = await shop.stop('-n', 'shop', '--min', '2%', '--timeout', '1h')
  expect(out).toContain('stopped: confirmed by 1 of 41 pods')
})
