import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'

// In mode port, traffic by the number of a port or by the address of a pod passed the sidecar by,
// and the only warning went to the controller that made the pod: nobody read it.
const opened = closers()

const PORT = { 'squall.dev/mode': 'port' }

async function start(): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  shop.addPaper('shop-1', { annotations: PORT })
  return shop
}

function put(shop: Shop, name: string, targetPort: number | string, clusterIP = '10.0.0.9'): void {
  shop.api.put(`/api/v1/namespaces/shop/services/${name}`, {
    metadata: { name },
    spec: { clusterIP, selector: { app: 'shop' }, ports: [{ port: 3000, targetPort }] },
  })
}

test('Services that lead past sidecars are shown by squall status', async () => {
  const shop = await start()
  put(shop, 'by-number', 3000)
  put(shop, 'headless', 'mcp', 'None')
  put(shop, 'right', 'mcp')
  const { out } = await shop.status()
  expect(out).toContain('shop/shop-1: warning: the Service "by-number" maps port 3000')
  expect(out).toContain('shop/shop-1: warning: the Service "headless" is headless')
  expect(out).not.toContain('"right"')
  // The webhook could not check it, and this did.
  expect(out).not.toContain('cannot be checked')
  const { pods } = JSON.parse((await shop.status('--json')).out) as {
    readonly pods: readonly { readonly warnings: readonly string[] }[]
  }
  expect(pods[0]?.warnings).toHaveLength(2)
})

test('Services that lead past sidecars are warned of by squall apply', async () => {
  const shop = await start()
  put(shop, 'headless', 'mcp', 'None')
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, 'rules: []\n')
  const { err } = await shop.apply('-f', file, '--no-wait')
  expect(err).toContain('warning: the Service "headless" is headless')
})

test('a missing permission is named once', async () => {
  const shop = await start()
  shop.addPaper('shop-2', { annotations: PORT })
  shop.api.denied.add('list services')
  const { out } = await shop.status()
  expect(out.match(/cannot check whether Services bypass sidecars in mode port/g)).toHaveLength(1)
  expect(out).toContain('services')
})

test('Services are not asked for where no pod is in mode port', async () => {
  const shop = opened(await startCluster('shop'))
  shop.addPaper('shop-1')
  await shop.status()
  expect(shop.api.seen.some(({ path }) => path.includes('services'))).toBe(false)
})

test('squall apply records the warnings of pods as events, each once, and says when it may not', async () => {
  const shop = await start()
  put(shop, 'headless', 'mcp', 'None')
  const events = (): readonly object[] =>
    [...shop.api.store].filter(([path]) => path.includes('/events/')).map(([, event]) => event)
  const file = join(shop.directory, 'rules.yaml')
  await writeFile(file, 'rules: []\n')
  await shop.apply('-f', file, '--no-wait')
  await shop.apply('-f', file, '--no-wait')
  const message = expect.stringContaining('the Service "headless" is headless') as string
  const pod = { kind: 'Pod', namespace: 'shop', name: 'shop-1' }
  const warnings = events().filter((event) => 'type' in event && event.type === 'Warning')
  expect(warnings).toMatchObject([{ reason: 'SquallWarning', message, involvedObject: pod }])
  shop.api.denied.add('create events')
  const { code, err } = await shop.apply('-f', file, '--no-wait')
  expect(code).toBe(0)
  expect(err.match(/warning: the event was not recorded: /g)).toHaveLength(1)
})
