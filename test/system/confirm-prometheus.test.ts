// part: prometheus
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { failing } from '../live/rules-directory.ts'
import { closers } from '../support/closers.ts'
import { queryBecomes, startCluster, startPrometheus } from '../support/cluster.ts'

const opened = closers()
const PODS = 80

it('apply, stop and resume are confirmed by a Prometheus that scrapes the sidecars', async () => {
  const shop = opened(await startCluster('shop'))
  const { admin } = await shop.addPod('shop-0')
  const path = '/api/v1/namespaces/shop/pods/shop-'
  const first = shop.api.store.get(`${path}0`)!
  for (let i = 1; i < PODS; i++) {
    const metadata = { ...(first['metadata'] as object), name: `shop-${i}`, uid: `uid-${i}` }
    shop.api.put(`${path}${i}`, { ...first, metadata })
    shop.api.sidecars.set(`shop/shop-${i}`, admin)
  }
  const address = new URL(admin).host
  const targets = Array.from({ length: PODS }, (_, i) => ({
    address,
    labels: { namespace: 'shop', pod: `shop-${i}`, cluster: 'eu' },
  }))
  const prometheus = opened(await startPrometheus(targets, [], '2s'))
  await queryBecomes(prometheus, 'count(squall_rules_info)', PODS)
  const confirm = ['--confirm', `prometheus=${prometheus.url}?cluster=eu`, '--json']
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, failing('first'))
  const detailsOf = async (action: 'apply' | 'stop' | 'resume', ...args: readonly string[]) => {
    const { code, out, err } = await shop[action]('-n', 'shop', ...confirm, ...args)
    expect(code, out + err).toBe(0)
    const { pods, warnings } = JSON.parse(out) as {
      readonly pods: readonly { readonly detail: string }[]
      readonly warnings: readonly string[]
    }
    expect(warnings).toEqual([])
    expect(pods).toHaveLength(PODS)
    return pods.map(({ detail }) => detail)
  }
  expect(await detailsOf('apply', '-f', file)).toContain('by Prometheus')
  expect(await detailsOf('stop')).toContain('by Prometheus')
  expect(await detailsOf('resume')).toContain('by Prometheus')
})
