import { on, once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { stringify } from 'yaml'
import { expect, test } from 'vitest'
import { socksConnector } from '../../src/kube/socks-connector.ts'
import { createCa, issueServer } from '../../src/webhook/issue-certificate.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { configOf, read, SERVER, stage } from './proxied-cluster.ts'

const opened = closers()
const CREDENTIALS = 'me:p%40ss%3Aw%C3%B6rd'
const PASSWORD = 'p@ss:wörd'

interface SocksOptions {
  /** The user name and password that it requires. */
  readonly user?: readonly [name: string, password: string]
  /** The reply to a request; 0 connects. */
  readonly reply?: number
  /** Sends this text instead of its first response; an empty one closes the connection. */
  readonly greeting?: string
  /** Responds to nothing. */
  readonly isSilent?: boolean
  /** The address in its reply, with its type. */
  readonly bound?: readonly number[]
}

/** A SOCKS5 proxy (RFC 1928, RFC 1929) that connects to one port of loopback, whatever it is asked. */
async function socksProxy(port: number, options: SocksOptions = {}) {
  const targets: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    void serve(socket, options, port, targets, sockets).catch(() => socket.destroy())
  })
  const app = await startUpstream(server)
  const close = async (): Promise<void> => {
    for (const each of sockets) each.destroy()
    await app.close()
  }
  return opened({ targets, sockets, host: `127.0.0.1:${app.port}`, close })
}

async function serve(
  socket: Socket,
  { user, reply = 0, greeting, isSilent, bound = [1, 0, 0, 0, 0] }: SocksOptions,
  port: number,
  targets: string[],
  sockets: Set<Socket>,
): Promise<void> {
  const readable = on(socket, 'readable', { close: ['close'] })
  const take = async (size: number): Promise<Buffer> => {
    for (;;) {
      const bytes = socket.read(size) as Buffer | null
      if (bytes?.length === size) return bytes
      if ((await readable.next()).done) throw new Error('ended')
    }
  }
  /** Sends bytes one by one, as a slow network does. */
  const send = async (bytes: readonly number[]): Promise<void> => {
    socket.setNoDelay(true)
    for (const byte of bytes) await new Promise((done) => socket.write(Buffer.from([byte]), done))
  }
  const [version, count = 0] = await take(2)
  expect(version).toBe(5)
  const methods = [...(await take(count))]
  if (isSilent === true) return
  if (greeting !== undefined) return void socket.end(greeting)
  const method = user === undefined ? 0 : 2
  if (!methods.includes(method)) return send([5, 255])
  await send([5, method])
  if (user !== undefined) {
    const [, length = 0] = await take(2)
    const name = (await take(length)).toString()
    const password = (await take((await take(1))[0]!)).toString()
    const isRight = name === user[0] && password === user[1]
    await send([1, isRight ? 0 : 1])
    if (!isRight) return void socket.end()
  }
  const request = await take(4)
  expect([...request.subarray(0, 3)]).toEqual([5, 1, 0])
  const type = request[3]
  const host =
    type === 1
      ? [...(await take(4))].join('.')
      : type === 4
        ? (await take(16)).toString('hex')
        : (await take((await take(1))[0]!)).toString()
  targets.push(`${type} ${host}:${(await take(2)).readUInt16BE()}`)
  const response = [5, reply, 0, ...bound, 0, 0]
  if (reply !== 0) return send(response)
  const inside = connect(port, '127.0.0.1')
  sockets.add(inside.on('error', () => socket.destroy()))
  await once(inside, 'connect')
  await send(response)
  await readable.return?.()
  inside.pipe(socket).pipe(inside)
}

test.each(['socks5', 'socks5h'])(
  'a %s proxy-url leads to the API server, whose name the proxy resolves',
  async (scheme) => {
    const cluster = opened(await stage())
    const proxy = await socksProxy(cluster.api.port)
    const file = await configOf(cluster, `\n      proxy-url: ${scheme}://${proxy.host}`)
    expect(await read(file, { HTTPS_PROXY: 'http://127.0.0.1:1' })).toBe('read')
    expect(proxy.targets).toEqual(['3 api.example.test:6443'])
  },
)

test('the user name and password of the URL are sent without their encoding', async () => {
  const cluster = opened(await stage())
  const proxy = await socksProxy(cluster.api.port, { user: ['me', PASSWORD] })
  const file = await configOf(cluster, `\n      proxy-url: socks5://${CREDENTIALS}@${proxy.host}`)
  expect(await read(file)).toBe('read')
  expect(proxy.targets).toHaveLength(1)
})

test.each([
  ['10.1.2.3:6443', '1 10.1.2.3:6443', [1, 10, 0, 0, 1]],
  ['[fd00::1:2]', `4 fd00${'0000'.repeat(5)}00010002:443`, [4, ...Array<number>(16).fill(0)]],
  ['[1:2:3:4:5:6:7:8]:1', '4 00010002000300040005000600070008:1', [3, 2, 97, 98]],
])('a server at %s is requested as an address', async (host, target, bound) => {
  const cluster = opened(await stage())
  const proxy = await socksProxy(cluster.api.port, { bound })
  const url = `\n      proxy-url: socks5://${proxy.host}`
  expect(await read(await configOf(cluster, url, `https://${host}`))).toBe('read')
  expect(proxy.targets).toEqual([target])
})

test('HTTPS_PROXY leads through SOCKS5 unless NO_PROXY names the server; ALL_PROXY is ignored', async () => {
  const cluster = opened(await stage())
  const proxy = await socksProxy(cluster.api.port)
  const file = await configOf(cluster)
  expect(await read(file, { HTTPS_PROXY: `socks5://${proxy.host}` })).toBe('read')
  expect(proxy.targets).toHaveLength(1)
  for (const env of [
    { HTTPS_PROXY: `socks5://${proxy.host}`, NO_PROXY: 'example.test' },
    { ALL_PROXY: `socks5://${proxy.host}` },
  ]) {
    expect(await read(file, env)).toContain('api.example.test cannot be resolved')
  }
  expect(proxy.targets).toHaveLength(1)
})

test('a client certificate that cannot be used is an error behind a proxy as well', async () => {
  const cluster = opened(await stage())
  const proxy = await socksProxy(cluster.api.port)
  const file = join(cluster.directory, 'broken')
  const broken = Buffer.from('-----BEGIN CERTIFICATE-----\nbroken').toString('base64')
  const user = { 'client-certificate-data': broken, 'client-key-data': broken }
  await writeFile(
    file,
    stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: SERVER, 'proxy-url': `socks5://${proxy.host}` } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  )
  expect(await read(file)).toContain('bad end line')
})

test('a plugin and its client certificate work through the proxy', async () => {
  const cluster = opened(await stage())
  const hour = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) }
  const ca = createCa('test', hour)
  const client = issueServer(ca, ['me'], hour)
  const { cert, key } = issueServer(ca, ['localhost'], hour)
  const names: (string | undefined)[] = []
  const tls = { cert, key, ca: ca.cert, requestCert: true, rejectUnauthorized: false }
  const server = createTlsServer(tls, (request, response) => {
    names.push((request.socket as TLSSocket).getPeerCertificate().subjectaltname)
    response.end('{}')
  })
  const app = opened(await startUpstream(server))
  const proxy = await socksProxy(app.port)
  const apiVersion = 'client.authentication.k8s.io/v1'
  const status = { clientCertificateData: client.cert, clientKeyData: client.key }
  const program = `
    const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
    if (spec.cluster['proxy-url'] !== 'socks5://${proxy.host}') process.exit(3)
    console.log(${JSON.stringify(JSON.stringify({ apiVersion, kind: 'ExecCredential', status }))})`
  const exec = { apiVersion, command: process.execPath, args: ['-e', program] }
  const file = join(cluster.directory, 'plugin')
  const data = Buffer.from(ca.cert).toString('base64')
  const way = { 'tls-server-name': 'localhost', 'proxy-url': `socks5://${proxy.host}` }
  await writeFile(
    file,
    stringify({
      'current-context': 'c',
      clusters: [
        { name: 'c', cluster: { server: SERVER, 'certificate-authority-data': data, ...way } },
      ],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: { exec: { ...exec, provideClusterInfo: true } } }],
    }),
  )
  expect(await read(file)).toBe('read')
  expect(names).toEqual(['DNS:me'])
})

test('rules are applied, and a port is forwarded, through the proxy', async () => {
  const shop = opened(await startCluster('shop'))
  await shop.addPod('shop-1')
  shop.api.denied.add('get pods/proxy')
  const proxy = await socksProxy(shop.api.port)
  const file = await configOf(shop, `\n      proxy-url: socks5://${proxy.host}`)
  const rules = join(shop.directory, 'rules.yaml')
  await writeFile(rules, failing('first'))
  const applied = await shop.apply('--kubeconfig', file, '-f', rules)
  expect(applied).toMatchObject({ code: 0, out: 'rules loaded in 1 of 1 pods\n' })
  expect(proxy.targets.length).toBeGreaterThan(1)
})

const USER = 'me:secret-word@'
test.each<[string, SocksOptions, string, RegExp]>([
  [
    'a wrong password',
    { user: ['me', 'other'] },
    USER,
    /^the proxy HOST rejected the user name or password; correct its URL$/,
  ],
  [
    'a missing password',
    { user: ['me', 'other'] },
    '',
    /^the proxy HOST requires a user name and a password; write socks5:\/\/USER:PASSWORD@HOST:PORT$/,
  ],
  [
    'a password that is too long',
    { user: ['me', 'other'] },
    `me:${'x'.repeat(256)}@`,
    /at most 255 bytes; shorten them$/,
  ],
  [
    'an HTTP proxy',
    { greeting: 'HTTP/1.1 400 Bad Request\r\n\r\n' },
    USER,
    /THROUGH it does not speak SOCKS5; check its port, or write http:\/\/ for an HTTP proxy$/,
  ],
  [
    'a closed connection',
    { greeting: '' },
    USER,
    /THROUGH it closed the connection; check the user name, password and port in its URL$/,
  ],
  [
    'a rule of the proxy',
    { reply: 2 },
    '',
    /THROUGH its rules do not allow the server; ask the administrator of the proxy$/,
  ],
  [
    'an unreachable server',
    { reply: 4 },
    '',
    /THROUGH it cannot reach the server \(reply 4\); check the server URL, or see its log$/,
  ],
  [
    'a server that is down',
    { reply: 5 },
    '',
    /THROUGH nothing listens at the server URL; check that the cluster is running$/,
  ],
  [
    'another failure',
    { reply: 1 },
    '',
    /THROUGH it cannot reach the server \(reply 1\); check the server URL, or see its log$/,
  ],
])('%s is reported with the next step', async (_, options, user, says) => {
  const cluster = opened(await stage())
  const proxy = await socksProxy(cluster.api.port, options)
  const file = await configOf(cluster, `\n      proxy-url: socks5://${user}${proxy.host}`)
  const message = await read(file)
  const through = `cannot read namespaces "shop" (context "test") through the proxy ${proxy.host}:`
  expect(message.replace(through, 'THROUGH').replace(proxy.host, 'HOST')).toMatch(says)
  expect(message).not.toMatch(/secret-word|xxx/)
  await expect.poll(() => [...proxy.sockets].every((each) => each.destroyed)).toBe(true)
})

test('a port where no proxy listens, and a proxy that does not respond, are named', async () => {
  const cluster = opened(await stage())
  const gone = await startUpstream(() => undefined)
  await gone.close()
  const host = `127.0.0.1:${gone.port}`
  for (const scheme of ['http', 'socks5']) {
    const file = await configOf(cluster, `\n      proxy-url: ${scheme}://${host}`)
    const says = `through the proxy ${host}: nothing listens at ${host}; check the URL, and that the server is running`
    expect(await read(file)).toContain(says)
  }
  const proxy = await socksProxy(cluster.api.port, { isSilent: true })
  const dial = socksConnector(new URL(`socks5://${proxy.host}`), { timeout: 200 })
  const target = { hostname: 'api.example.test', protocol: 'https:', port: '6443' }
  const error = await new Promise<Error | null>((resolve) =>
    dial(target, (...[failed]) => resolve(failed)),
  )
  expect(error?.message).toMatch(
    /^it did not respond within 0.2 s; it does not speak SOCKS5; check/,
  )
  await expect.poll(() => [...proxy.sockets].every((each) => each.destroyed)).toBe(true)
  const silent = opened(await startUpstream(createServer()))
  const open = await socksProxy(silent.port)
  const behind = socksConnector(new URL(`socks5://${open.host}`), { timeout: 200 })
  const late = await new Promise<Error | null>((resolve) =>
    behind(target, (...[failed]) => resolve(failed)),
  )
  expect(late?.message).toBe('the server behind it does not respond; check the server URL')
})
