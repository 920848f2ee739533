import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { connectKube } from '../../src/kube/connect.ts'
import { proxyOf } from '../../src/kube/proxy.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { configOf, read, SERVER, stage } from './proxied-cluster.ts'

const opened = closers()

/** A proxy that tunnels to one port of loopback, whatever the name. */
async function tunnel(port: number, refuses?: number) {
  const seen: { target: string; authorization: string | undefined }[] = []
  const app = await startUpstream(() => undefined)
  const sockets = new Set<{ destroy(): unknown }>()
  app.server.on('connect', (request, socket, head) => {
    const authorization = request.headers['proxy-authorization']
    seen.push({ target: request.url ?? '', authorization })
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (refuses !== undefined) {
      socket.end(`HTTP/1.1 ${refuses} No\r\n\r\n`)
      return
    }
    const inside = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      inside.write(head)
      inside.pipe(socket).pipe(inside)
    })
    sockets.add(inside)
    inside.on('error', () => socket.destroy())
  })
  const close = async (): Promise<void> => {
    for (const each of sockets) each.destroy()
    await app.close()
  }
  return opened({ seen, host: `127.0.0.1:${app.port}`, close })
}

test('proxy-url of a kubeconfig leads to the API server, with a password', async () => {
  const cluster = opened(await stage())
  const proxy = await tunnel(cluster.api.port)
  const file = await configOf(cluster, `\n      proxy-url: http://me:secret@${proxy.host}`)
  expect(await read(file, { HTTPS_PROXY: 'http://127.0.0.1:1' })).toBe('read')
  const authorization = `Basic ${Buffer.from('me:secret').toString('base64')}`
  expect(proxy.seen).toEqual([{ target: 'api.example.test:6443', authorization }])
})

test('HTTPS_PROXY leads to the API server, unless NO_PROXY names it', async () => {
  const cluster = opened(await stage())
  const proxy = await tunnel(cluster.api.port)
  const file = await configOf(cluster)
  expect(await read(file, { HTTPS_PROXY: `http://${proxy.host}` })).toBe('read')
  expect(await read(file, { https_proxy: proxy.host })).toBe('read')
  expect(proxy.seen).toHaveLength(2)
  const excluded = { HTTPS_PROXY: `http://${proxy.host}`, NO_PROXY: '.example.test' }
  expect(await read(file, excluded)).toContain('api.example.test cannot be resolved')
  expect(proxy.seen).toHaveLength(2)
  // As for kubectl: an API server of this machine is reached directly.
  expect(await read(cluster.kubeconfig, { HTTPS_PROXY: `http://${proxy.host}` })).toBe('read')
  expect(proxy.seen).toHaveLength(2)
})

test('a port is forwarded through the proxy, too', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.denied.add('get pods/proxy')
  const proxy = await tunnel(shop.api.port)
  const file = await configOf(shop, `\n      proxy-url: http://${proxy.host}`)
  const { code, out } = await shop.status('--kubeconfig', file)
  expect(out).toContain('shop-1')
  expect(code).toBe(0)
  expect(proxy.seen.length).toBeGreaterThan(1)
})

test('a proxy that refuses is named, without its password', async () => {
  const cluster = opened(await stage())
  const proxy = await tunnel(cluster.api.port, 407)
  const file = await configOf(cluster, `\n      proxy-url: http://me:secret@${proxy.host}`)
  const message = await read(file)
  expect(message).toContain(`through the proxy ${proxy.host}: Proxy response (407)`)
  expect(message).not.toContain('secret')
  const wrong = await configOf(cluster, '\n      proxy-url: socks4://me:secret@proxy')
  expect(() =>
    connectKube({ kubeconfig: wrong, context: undefined, env: {}, version: 'test' }),
  ).toThrow(
    /proxy-url is not the URL of a proxy; write http:\/\/HOST:PORT or socks5:\/\/HOST:PORT$/,
  )
})

test.each([
  ['api.example.test', true],
  ['example.test', true],
  ['*.example.test', true],
  ['other.test, .Example.Test', true],
  ['api.example.test:6443', true],
  ['api.example.test:443', false],
  ['ample.test', false],
  ['10.0.0.0/8', false],
  ['*', true],
  ['', false],
])('NO_PROXY=%s excludes api.example.test:6443: %s', (excluded, isDirect) => {
  const env = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: excluded }
  expect(proxyOf(new URL(SERVER), env) === undefined).toBe(isDirect)
})

test.each([
  ['https://10.1.2.3', '10.0.0.0/8', true],
  ['https://11.1.2.3', '10.0.0.0/8', false],
  ['https://10.1.2.3', '10.0.0.0/99', false],
  ['https://10.1.2.3', 'x/8', false],
  ['https://10.1.2.3', '10.1.2.3', true],
  ['https://[fd00::1]', 'fd00::/8', true],
  ['https://[fd00::1]:6443', '[fd00::1]:6443', true],
  ['https://[::1]', '', true],
  ['https://127.0.0.9', '', true],
])('%s with NO_PROXY=%s is reached directly: %s', (server, excluded, isDirect) => {
  const env = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: excluded }
  expect(proxyOf(new URL(server), env) === undefined).toBe(isDirect)
})
