// part: slow
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
/** Longer than a test may take: a command that ends does not wait for it. */
const NEVER = ['--timeout', '1h']
const RUNS = { sidecar: { running: { startedAt: 'now' } } }

/** Starts a namespace with a pod that responds, and others that accept connections and do not. */
async function start(silent: readonly string[], node?: string): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  await shop.addPod('shop-1')
  const hanging = opened(await startUpstream(createServer(() => undefined)))
  for (const name of silent) {
    shop.addPaper(name, RUNS)
    shop.api.sidecars.set(`shop/${name}`, `http://127.0.0.1:${hanging.port}`)
    const path = `/api/v1/namespaces/shop/pods/${name}`
    const pod = shop.api.store.get(path)!
    shop.api.put(path, { ...pod, spec: { ...(pod['spec'] as object), nodeName: node } })
  }
  return shop
}

function putNode(shop: Shop, status: string): void {
  const conditions = [{ type: 'Ready', status }]
  shop.api.put('/api/v1/nodes/n-1', { metadata: { name: 'n-1' }, status: { conditions } })
}

async function rulesFile({ directory }: Shop): Promise<string> {
  const file = join(directory, 'rules.yaml')
  await writeFile(file, 'rules: [{ name: one, faults: [abort: { status: 503 }] }]\n')
  return file
}

test.each(['stop', 'apply'] as const)(
  'squall %s ends with --min when enough pods confirmed, and names a silent one',
  async (action) => {
    const shop = await start(['silent-1'])
    const args = action === 'apply' ? ['-f', await rulesFile(shop)] : []
    const { code, out } = await shop[action]('-n', 'shop', '--min', '50%', ...NEVER, ...args)
    expect(code, out).toBe(0)
    expect(out).toContain('1 of 2 pods')
    expect(out).toMatch(/silent-1: waiting, cannot query the sidecar/)
  },
)

test.each(['False', 'Unknown'])(
  'squall stop does not count silent pods of a node whose Ready condition is %s',
  async (status) => {
    const shop = await start(['lost-1', 'lost-2'], 'n-1')
    putNode(shop, status)
    const { code, out } = await shop.stop('-n', 'shop', ...NEVER)
    expect(out).toContain('stopped: confirmed by 1 of 1 pods, 2 not waited for')
    expect(out).toContain('shop/lost-1: skipped, its node n-1 is not ready')
    expect(code).toBe(0)
  },
)

test.each([
  ['ready', 'True'],
  ['not readable', undefined],
])(
  'squall stop fails where fewer pods than --min confirm: silent ones of a node that is %s count',
  async (_, status) => {
    const shop = await start(['silent-1'], 'n-1')
    if (status === undefined) shop.api.denied.add('get nodes')
    else putNode(shop, status)
    const { code, out } = await shop.stop('-n', 'shop', '--min', '51%', '--timeout', '4s')
    expect(out).toContain('stopped: confirmed by 1 of 2 pods')
    expect(out).toMatch(/silent-1: waiting, cannot query/)
    expect(code).toBe(1)
  },
)

test('squall stop sums up many pods, and lists each with --all', async () => {
  const shop = await start([])
  // Nothing listens in these.
  for (let i = 0; i < 50; i++) shop.addPaper(`refused-${i}`, RUNS)
  const few = await shop.stop('-n', 'shop', '--min', '1%', ...NEVER)
  expect(few.out).toContain('stopped: confirmed by 1 of 51 pods')
  expect(few.out.match(/refused-\d+: waiting/g)).toHaveLength(40)
  expect(few.out).toContain('  and 10 more; --all lists them\n')
  // On a busy machine, the first round may confirm none.
  expect(few.err).toMatch(/^(?:[01] of 51 pods\n)*1 of 51 pods\n$/)
  expect(few.code).toBe(0)
  const all = await shop.stop('-n', 'shop', '--min', '1%', '--all', ...NEVER)
  expect(all.out.match(/refused-\d+: waiting/g)).toHaveLength(50)
  expect(all.err).toContain('refused-1: waiting')
})
