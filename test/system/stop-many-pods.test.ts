// part: slow-nightly
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/commands.ts'

const opened = closers()
const PODS = 20_000
const NAMESPACES = 50
const INJECTED = 10
/** The memory limit of the chart for the Job that runs squall stop. */
const LIMIT = 256 * 1024 * 1024
const ROOT = '/sys/fs/cgroup'
/** Returns other fields of a pod, about as many as those of real ones. */
const others = (pod: number): object =>
  Object.fromEntries(
    Array.from({ length: 120 }, (_, i) => [`f:field-${i}`, { 'f:name': `pod-${pod}-${i}` }]),
  )

/** Makes a cgroup with a memory limit, by either version; undefined where that is not allowed. */
function memoryCgroup(): { readonly procs: string; close(): void } | undefined {
  const name = `squall-stop-${process.pid}`
  for (const [parent, file] of [
    ['memory', 'memory.limit_in_bytes'],
    ['', 'memory.max'],
  ] as const) {
    const directory = join(ROOT, parent, name)
    try {
      mkdirSync(directory)
      writeFileSync(join(directory, file), String(LIMIT))
      return { procs: join(directory, 'cgroup.procs'), close: () => rmdirSync(directory) }
    } catch {
      // The other version, or no rights.
    }
  }
  return undefined
}

const cgroup = memoryCgroup()

test.skipIf(cgroup === undefined).each([
  ['by their label', []],
  ['among all pods', ['--unlabelled']],
])(
  `squall stop --production finds ${INJECTED} sidecars %s in 256 MiB, where the cluster has ${PODS} pods`,
  async (_, flags) => {
    const shop = opened(await startCluster('shop'))
    shop.api.pageSize = 500
    for (let i = 0; i < NAMESPACES; i++) {
      const metadata = { name: `n-${i}`, labels: { environment: 'production' } }
      shop.api.put(`/api/v1/namespaces/n-${i}`, { metadata })
    }
    shop.api.put('/api/v1/namespaces/shop', { metadata: { labels: { environment: 'production' } } })
    for (let i = 0; i < PODS - INJECTED; i++) {
      const name = `pod-${i}`
      const metadata = { name, labels: { app: 'a' }, managedFields: [{ fieldsV1: others(i) }] }
      const spec = { containers: [{ name: 'app', image: 'app:1' }], nodeName: `node-${i % 400}` }
      shop.api.put(`/api/v1/namespaces/n-${i % NAMESPACES}/pods/${name}`, { metadata, spec })
    }
    for (let i = 0; i < INJECTED; i++) await shop.addPod(`shop-${i}`)
    const main = ['node', join(import.meta.dirname, '../../dist/cli/main.js')]
    const args = ['stop', '--production', '--kubeconfig', shop.kubeconfig, '--timeout', '60s']
    const script = `echo $$ > ${cgroup!.procs}; exec "$@"`
    const run = startProgram(
      ['-c', script, 'sh', ...main, ...args, ...flags],
      {},
      { program: 'sh' },
    )
    const { code, stdout, stderr } = await run.finished()
    expect(stdout + stderr).toContain(`stopped: confirmed by ${INJECTED} of ${INJECTED} pods`)
    expect(code).toBe(0)
    expect(shop.rules()).toHaveProperty('squall-stop')
  },
)

test.skipIf(cgroup === undefined)('the cgroup is empty again', async () => {
  await eventually(() => {
    try {
      cgroup!.close()
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  })
})
