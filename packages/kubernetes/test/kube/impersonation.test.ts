import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectKube } from '../../src/kube/connect.ts'
import { NAMESPACES } from '../../src/kube/resources.ts'
import { closers } from '../../../../test/support/closers.ts'
import { kubeconfigText, startCluster, TOKEN } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
const USER = {
  token: TOKEN,
  as: 'alice',
  'as-uid': '42',
  'as-groups': ['on-call', 'shop, east'],
  'as-user-extra': { 'example.com/Team': ['a', 'b'], scopes: ['x'] },
}

function impersonated(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.flatMap((name, i) =>
    i % 2 === 0 && /^impersonate-/i.test(name)
      ? [`${name.toLowerCase()}: ${rawHeaders[i + 1]}`]
      : [],
  )
}

const HEADERS = [
  'impersonate-user: alice',
  'impersonate-uid: 42',
  'impersonate-group: on-call',
  'impersonate-group: shop, east',
  'impersonate-extra-example.com%2fteam: a',
  'impersonate-extra-example.com%2fteam: b',
  'impersonate-extra-scopes: x',
]

test('a kubeconfig and the flags name the user to impersonate; the flags replace all of it', async () => {
  const cluster = opened(await startCluster('api'))
  cluster.api.put('/api/v1/namespaces/shop', {})
  const kubeconfig = join(cluster.directory, 'as')
  await writeFile(kubeconfig, kubeconfigText(cluster.api, USER))
  const get = async (more: { as?: string; asGroups?: string[] }) => {
    const client = connectKube({
      kubeconfig,
      context: undefined,
      env: {},
      version: 'test',
      ...more,
    })
    await client.get({ kind: NAMESPACES, name: 'shop' })
    await client.close()
    return impersonated(cluster.api.seen.at(-1)!.rawHeaders).map((each) =>
      each.replace('%2F', '%2f'),
    )
  }
  expect(await get({})).toEqual(HEADERS)
  expect(await get({ as: 'bob', asGroups: ['a', 'b'] })).toEqual([
    'impersonate-user: bob',
    'impersonate-group: a',
    'impersonate-group: b',
  ])
})

test.each([
  [{ as: 1000 }, 'as of the user must be a string; quote the value'],
  [{ as: 'me', 'as-uid': 7 }, 'as-uid of the user must be a string; quote the value'],
])('the user %j of a kubeconfig is rejected, and nothing is done as oneself', async (user, why) => {
  const cluster = opened(await startCluster('api'))
  const kubeconfig = join(cluster.directory, 'as')
  await writeFile(kubeconfig, kubeconfigText(cluster.api, { token: 'mine', ...user }))
  const connect = () => connectKube({ kubeconfig, context: undefined, env: {}, version: 'test' })
  expect(connect).toThrow(why)
})

test('--as-group without --as is rejected', async () => {
  const args = ['status', '-n', 'shop', '--as-group', 'a']
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect([code, stderr]).toEqual([2, expect.stringContaining('--as-group needs --as')])
})

test('commands impersonate by --as and --as-group, also where they forward a port', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.denied.add('get pods/proxy')
  const flags = ['--as', 'bob', '--as-group', 'a', '--as-group', 'b']
  expect(await shop.status(...flags)).toMatchObject({ code: 0 })
  for (const { rawHeaders } of shop.api.seen) {
    expect(impersonated(rawHeaders)).toEqual([
      'impersonate-user: bob',
      'impersonate-group: a',
      'impersonate-group: b',
    ])
  }
})

test('a WebSocket has each group in a header of its own', async () => {
  const server = opened(await startUpstream(() => undefined))
  const upgraded = new Promise<readonly string[]>((resolve) => {
    server.server.on('upgrade', ({ rawHeaders }, socket) => {
      resolve(rawHeaders)
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
    })
  })
  const cluster = opened(await startCluster('api'))
  const kubeconfig = join(cluster.directory, 'plain')
  const text = kubeconfigText(cluster.api, {}).replace(cluster.api.url, server.url)
  await writeFile(kubeconfig, text)
  const choice = { kubeconfig, context: undefined, env: {}, as: 'bob', asGroups: ['a', 'b'] }
  const client = connectKube({ ...choice, version: 'test' })
  const { signal } = new AbortController()
  expect(await client.openSocket({ path: '/x' }, 'v4.channel.k8s.io', signal)).toBeUndefined()
  await client.close()
  expect(impersonated(await upgraded)).toEqual([
    'impersonate-user: bob',
    'impersonate-group: a',
    'impersonate-group: b',
  ])
})
