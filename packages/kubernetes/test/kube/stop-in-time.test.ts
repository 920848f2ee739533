// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
/** The time that a command may take beyond its limit. */
const LATE_MS = 2_000

/** Starts pods that share one sidecar, and pods that accept connections and do not respond. */
async function start(pods: number, dead: number): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.api.pageSize = 500
  shop.api.put('/api/v1/namespaces/shop', { metadata: { name: 'shop' } })
  const { admin } = await shop.addPod('shop-0')
  const hanging = opened(await startUpstream(createServer(() => undefined)))
  for (let i = 1; i < pods; i++) {
    shop.addPaper(`shop-${i}`, { sidecar: { running: { startedAt: 'now' } } })
    shop.api.sidecars.set(`shop/shop-${i}`, i <= dead ? `http://127.0.0.1:${hanging.port}` : admin)
  }
  return shop
}

test.each([
  ['stop', 100, 60, 10],
  ['resume', 100, 60, 10],
  ['apply', 100, 60, 10],
  ['stop', 1_000, 50, 30],
  ['resume', 1_000, 50, 30],
] as const)(
  'squall %s of %i pods with %i dead ones ends within %i s and two more',
  async (action, pods, dead, seconds) => {
    const shop = await start(pods, dead)
    const file = join(shop.directory, 'rules.yaml')
    await writeFile(file, 'rules: [{ name: one, faults: [abort: { status: 503 }] }]\n')
    if (action === 'resume') await shop.stop('-n', 'shop', '--min', '1%', '--timeout', '5s')
    const begun = performance.now()
    const args = action === 'apply' ? ['-f', file] : []
    const { code, out } = await shop[action]('-n', 'shop', '--timeout', `${seconds}s`, ...args)
    const took = performance.now() - begun
    process.stderr.write(`${action} of ${pods} pods with ${dead} dead: ${Math.round(took)} ms\n`)
    expect(took).toBeLessThan(seconds * 1_000 + LATE_MS)
    if (action === 'stop') {
      const [, confirmed] = /confirmed by (\d+) of/.exec(out) ?? []
      // On a busy machine a sidecar may be late as well.
      expect(Number(confirmed)).toBeGreaterThan(0.9 * (pods - dead))
    }
    expect(code).toBe(1)
  },
)
