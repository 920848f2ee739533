import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()
const PATH = '/api/v1/namespaces/shop/configmaps/squall-rules'

test.each([
  ['Argo CD', { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:/ConfigMap:shop/rules' } }],
  ['Flux', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } }],
])('stop and apply warn where %s manages the ConfigMap', async (tool, metadata) => {
  const shop = opened(await startCluster('shop'))
  shop.api.put(PATH, { metadata, data: {} })
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing('first'))
  const warning = (what: string): string =>
    `warning: ${tool} manages the ConfigMap squall-rules in shop and may revert the change at its next sync; write ${what} into Git as well`
  expect((await shop.apply('-f', file)).err).toContain(warning('the rules'))
  expect((await shop.stop('-n', 'shop')).err).toContain(warning('the key squall-stop'))
})

test('a stop holds although a tool replaces the whole ConfigMap, until squall resume', async () => {
  const shop = opened(await startCluster('shop'))
  const squall = await shop.addPod('shop-1')
  const git = { metadata: { name: 'squall-rules' }, data: { 'rules.yaml': failing('first') } }
  shop.api.put(PATH, git)
  expect(await shop.stop('-n', 'shop')).toMatchObject({ code: 0 })
  shop.api.put(PATH, git)
  // The touch of a later apply has the kubelet deliver it.
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing('second'))
  const applied = await shop.apply('-f', file)
  expect(applied.err).toMatch(/shop-1: applied, disarmed by stopped \(squall stop by tester at /)
  // The sidecar reads the rules and the key by themselves, in either order.
  await expect
    .poll(async () => (await shop.apply('-f', file)).err, { timeout: 10_000 })
    .toContain('the key squall-stop is gone; squall resume -n ends the stop')
  expect(await shop.ask(squall)).toContain('fine')
  expect(await shop.resume('-n', 'shop')).toMatchObject({ code: 0 })
  expect(await shop.ask(squall)).toContain('second')
  expect(shop.rules()['squall-stop']).toBe('{"stops":[]}\n')
})
