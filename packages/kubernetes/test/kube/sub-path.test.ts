import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'
import { startSquall } from '../../../../test/support/commands.ts'
import { mountRules } from '../../../../test/live/rules-directory.ts'

// The kubelet never updates a file that is mounted with subPath: no rules and no stop arrive.
const opened = closers()
const POD = '/api/v1/namespaces/shop/pods/shop-1'
const RULES = 'rules: []\n'

interface Pod {
  readonly spec: {
    readonly [list: string]: { name: string; args: string[]; volumeMounts: object[] }[]
  }
}

test('squall status warns of a rules file mounted with subPath, and compares its key', async () => {
  const shop = opened(await startCluster('shop'))
  const mounted = await mountRules(RULES)
  opened({ close: () => mounted.remove() })
  const { file } = mounted
  const squall = opened(await startSquall('--upstream', 'http://127.0.0.1:9', '--rules', file))
  shop.api.sidecars.set('shop/shop-1', squall.admin)
  shop.addPaper('shop-1', { sidecar: { running: { startedAt: 'now' } } })
  const pod = structuredClone(shop.api.store.get(POD)!) as unknown as Pod
  const { containers = [], initContainers = [] } = pod.spec
  const sidecar = [...containers, ...initContainers].find(({ name }) => name === 'squall')!
  sidecar.args = ['--rules', file]
  sidecar.volumeMounts = [{ name: 'squall-rules', mountPath: file, subPath: 'rules.yaml' }]
  shop.api.put(POD, { ...pod })
  const data = { 'rules.yaml': RULES, 'other.yaml': RULES }
  shop.api.put('/api/v1/namespaces/shop/configmaps/squall-rules', { data })
  const { out } = await shop.status()
  expect(out).toContain('warning: its rules are mounted with subPath, so Kubernetes never updates')
  expect((await shop.status('--json')).out).toContain('"digestIs": "current"')
})
