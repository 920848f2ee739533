import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { State } from '../../../../src/admin/contract/api.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
/** A response that takes long seems to come from a clock that is slower still. */
const BEHIND =
  'its clock is 6\\d\\d s behind that of the API server, which shifts the times of rules'

/** Adds a pod whose node has a clock that is ten minutes slow. */
async function addSlow(shop: Shop): Promise<void> {
  const squall = await shop.addPod('shop-1')
  const slow = opened(
    await startUpstream((request, response) => {
      void (async () => {
        const passed = await fetch(`${squall.admin}${request.url}`)
        const body = (await passed.json()) as Partial<State>
        const shown = body.startedAt ?? undefined
        const startedAt = shown && new Date(Date.parse(shown) - 600_000).toISOString()
        const date = new Date(Date.now() - 600_000).toUTCString()
        response.writeHead(passed.status, { 'content-type': 'application/json', date })
        response.end(JSON.stringify({ ...body, startedAt }))
      })()
    }),
  )
  shop.api.sidecars.set('shop/shop-1', `http://127.0.0.1:${slow.port}`)
}

test('a node whose clock is slow is named by apply, status and check', async () => {
  const shop = opened(await startCluster('shop'))
  shop.api.store.set('/version', { gitVersion: 'v1.34.2' })
  await addSlow(shop)
  await shop.addPod('shop-2')
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing('first'))
  const { code, err } = await shop.apply('-f', file)
  expect(code).toBe(0)
  expect(err).toMatch(new RegExp(`shop-1: applied, armed; ${BEHIND}\n`))
  expect(err).toContain('shop-2: applied, armed\n')
  const { out } = await shop.status()
  expect(out).toMatch(new RegExp(`shop/shop-1: ${BEHIND}\n`))
  expect(out).not.toContain('shop/shop-2: its clock')
  const args = ['check', '-n', 'shop', '--kubeconfig', shop.kubeconfig]
  const { stdout } = await startProgram(args, {}, { here: true })
  expect(stdout).toMatch(
    new RegExp(`× sidecar clocks match the API server clock: shop-1: ${BEHIND}`),
  )
})

test('apply rejects an appliedAt that is ahead of the clock of the API server', async () => {
  const shop = opened(await startCluster('shop'))
  const file = join(shop.directory, 'rules.yaml')
  const ahead = new Date(Date.now() + 120_000).toISOString()
  await writeFile(file, `appliedAt: ${ahead}\n${failing('first')}`)
  const { code, err } = await shop.apply('-f', file)
  expect(code).toBe(2)
  expect(err).toMatch(/^appliedAt of first is 20\S+Z, but the API server's clock shows 20\S+Z; /)
  expect(shop.rules()).toEqual({})
})
