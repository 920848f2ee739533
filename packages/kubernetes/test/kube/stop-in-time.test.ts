// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { stalledMs } from '../../../../test/support/stalls.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
/** The time that a command may take beyond its limit, where the machine does not stand still. */
const LATE_MS = 2_000

/** Starts pods that share one sidecar. */
async function start(pods: number): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.pageSize = 500
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  const { admin } = await shop.addPod('shop-0')
  for (let i = 1; i < pods; i++) {
    shop.addPaper(`shop-${i}`, { sidecar: { running: { startedAt: 'now' } } })
    shop.api.sidecars.set(`shop/shop-${i}`, admin)
  }
  return shop
}

/** Has the first pods accept connections and not respond. */
async function silence({ api }: Shop, dead: number): Promise<void> {
  const hanging = opened(await startUpstream(createServer(() => undefined)))
  const url = `http://127.0.0.1:${hanging.port}`
  for (let i = 1; i <= dead; i++) api.sidecars.set(`shop/shop-${i}`, url)
}

/** Returns what an action resolves to, and how long it took less the stalls of the machine. */
async function timed<T>(action: () => Promise<T>): Promise<readonly [T, number]> {
  const from = performance.now() - stalledMs()
  const result = await action()
  return [result, performance.now() - stalledMs() - from]
}

test.each([
  ['resume', 100, 60, 10],
  ['apply', 100, 60, 10],
  ['resume', 1_000, 50, 30],
] as const)(
  'squall %s of %i pods with %i dead ones ends within %i s and two more',
  async (action, pods, dead, seconds) => {
    const shop = await start(pods)
    await silence(shop, dead)
    const file = join(shop.directory, 'rules.yaml')
    await writeFile(file, 'rules: [{ name: one, faults: [abort: { status: 503 }] }]\n')
    if (action === 'resume') await shop.stop('-n', 'shop', '--min', '1%', '--timeout', '5s')
    const args = action === 'apply' ? ['-f', file] : []
    const flags = ['-n', 'shop', '--timeout', `${seconds}s`, ...args]
    const [{ code }, took] = await timed(() => shop[action](...flags))
    process.stderr.write(`${action} of ${pods} pods with ${dead} dead: ${Math.round(took)} ms\n`)
    expect(took).toBeLessThan(seconds * 1_000 + LATE_MS)
    expect(code).toBe(1)
  },
)

test.each([
  [100, 60, 9],
  [1_000, 50, 20],
])(
  'squall stop of %i pods with %i dead ones ends in time, and the others confirm within %i s more than without dead ones',
  async (pods, dead, more) => {
    const shop = await start(pods)
    const [{ code, out }, alive] = await timed(() => shop.stop('-n', 'shop', '--timeout', '10m'))
    expect(code, out).toBe(0)
    await shop.resume('-n', 'shop', '--timeout', '10m')
    await silence(shop, dead)
    const limit = more + Math.ceil(alive / 1_000)
    const [stopped, took] = await timed(() => shop.stop('-n', 'shop', '--timeout', `${limit}s`))
    process.stderr.write(`stop of ${pods} pods: ${alive} ms, with ${dead} dead ones ${took} ms\n`)
    expect(took).toBeLessThan(limit * 1_000 + LATE_MS)
    const [, confirmed] = /confirmed by (\d+) of/.exec(stopped.out) ?? []
    expect(Number(confirmed)).toBeGreaterThan(0.9 * (pods - dead))
    expect(stopped.code).toBe(1)
  },
)
