// part: pod
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { ADDRESSES, EXEMPT, type Peer, type PodNetwork } from './pod-network.ts'

const [POD4, POD6] = ADDRESSES.pod
const DATABASES = ADDRESSES.outside
const METADATA = ['169.254.169.254', 'fd00:ec2::254'] as const
const API_SERVER = ['10.96.0.1', 'fd96::1'] as const
const PROGRAM = process.env['SQUALL_PROGRAM'] ?? 'dist/cli/main.js'
const MANY = 10_000

let network: PodNetwork
let app: Peer
let other: Peer
let sidecar: Peer
let outside: Peer

beforeAll(async () => {
  network = await startCluster('network')
  for (const address of [...METADATA, ...API_SERVER]) await network.addOutside(address)
  outside = await network.peer('outside')
  for (const port of [53, 443, 853, 5432, 6379]) await outside.greet(port)
  app = await network.peer('pod')
  other = await network.peer('pod', ['setpriv', '--reuid', '65534', '--clear-groups'])
  sidecar = await network.peer('pod', EXEMPT)
  await app.greet(15_300)
  await sidecar.relay(15_301, 5432)
  await sidecar.relay(15_302, 6379)
  await sidecar.relay(15_303, 443)
})

afterEach(async () => {
  await network.squall('redirect', '--undo')
})

afterAll(async () => {
  await network?.close()
})

async function redirect(...flags: readonly string[]): Promise<void> {
  const { code, stderr } = await network.squall('redirect', ...flags)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
}

/** Returns the text for a captured client: the restored destination, then the one that was reached. */
const captured = (host: string, listener: number, port: number): string =>
  `${host} through ${listener}: ${host}:${port}`

describe('connections from the pod', () => {
  test.each(DATABASES)('reach %s through the listener, which finds it', async (host) => {
    expect(await app.reach(host, 5432)).toBe(`${host}:5432`)
    await redirect('--outbound', '5432=15301')
    expect(await app.reach(host, 5432)).toBe(captured(host, 15_301, 5432))
    expect(await other.reach(host, 5432)).toBe(captured(host, 15_301, 5432))
    expect(await app.reach(host, 6379)).toBe(`${host}:6379`)
  })

  test.each(DATABASES)('reach %s without a loop from the exempt group', async (host) => {
    await redirect('--outbound', '5432=15301')
    expect(await sidecar.reach(host, 5432)).toBe(`${host}:5432`)
    await redirect('--outbound', '5432=15301', '--exempt-gid', '0')
    expect(await app.reach(host, 5432)).toBe(`${host}:5432`)
  })

  test('are captured for the named users alone', async () => {
    await redirect('--outbound', '5432=15301', '--outbound-uid', '0', '--outbound-uid', '4711')
    for (const host of DATABASES) {
      expect(await app.reach(host, 5432)).toBe(captured(host, 15_301, 5432))
      expect(await other.reach(host, 5432)).toBe(`${host}:5432`)
    }
  })

  test('are captured for the named networks alone', async () => {
    const [v4, v6] = DATABASES
    await redirect('--outbound', '10.77.0.0/16:5432=15301', '--outbound', '[fd78::/16]:6379=15302')
    expect(await app.reach(v4, 5432)).toBe(captured(v4, 15_301, 5432))
    expect(await app.reach(v6, 5432)).toBe(`${v6}:5432`)
    expect(await app.reach(v6, 6379)).toBe(`${v6}:6379`)
    await redirect('--outbound', '[fd77::/16]:6379=15302')
    expect(await app.reach(v6, 6379)).toBe(captured(v6, 15_302, 6379))
  })

  test('to the pod itself are not captured', async () => {
    await app.greet(5432)
    await redirect('--outbound', '5432=15301')
    for (const host of ['127.0.0.1', '::1', POD4, POD6]) {
      expect(await app.reach(host, 5432)).toBe(`${host}:5432`)
    }
  })
})

describe('what is captured only by its own name', () => {
  test.each(METADATA)('the metadata address %s', async (host) => {
    await redirect('--outbound', '443=15303')
    expect(await app.reach(host, 443)).toBe(`${host}:443`)
    const name = host.includes(':') ? `[${host}]` : host
    await redirect('--outbound', '443=15303', '--outbound', `${name}:443=15303`)
    expect(await app.reach(host, 443)).toBe(captured(host, 15_303, 443))
  })

  test.each(API_SERVER)('the API server at %s', async (host) => {
    const command = (...flags: readonly string[]) =>
      network.run('env', `KUBERNETES_SERVICE_HOST=${host}`, process.execPath, PROGRAM, ...flags)
    expect((await command('redirect', '--outbound', '443=15303')).code).toBe(0)
    expect(await app.reach(host, 443)).toBe(`${host}:443`)
    for (const each of DATABASES) {
      expect(await app.reach(each, 443)).toBe(captured(each, 15_303, 443))
    }
    const name = host.includes(':') ? `[${host}]` : host
    expect((await command('redirect', '--outbound', `${name}:443=15303`)).code).toBe(0)
    expect(await app.reach(host, 443)).toBe(captured(host, 15_303, 443))
  })

  test('DNS', async () => {
    await redirect('--outbound', '5432=15301', '--outbound', '443=15303')
    for (const host of DATABASES) {
      for (const port of [53, 853]) expect(await app.reach(host, port)).toBe(`${host}:${port}`)
    }
  })
})

describe('a captured listener', () => {
  test('rejects connections that nobody captured', async () => {
    await redirect('--outbound', '5432=15301')
    for (const host of [POD4, POD6]) {
      expect(await outside.reach(host, 15_301)).toBe('ECONNREFUSED')
      expect(await app.reach(host, 15_301)).toBe('ECONNREFUSED')
      expect(await sidecar.reach(host, 15_301)).toBe('ECONNREFUSED')
    }
    for (const host of ['127.0.0.1', '::1']) {
      expect(await app.reach(host, 15_301)).toBe('ECONNREFUSED')
    }
  })

  test(`has the right destination ${MANY} times`, async () => {
    await redirect('--outbound', '5432=15301')
    const [v4, v6] = DATABASES
    const [of4, of6] = await Promise.all([
      app.reachOften(v4, 5432, MANY / 2),
      other.reachOften(v6, 5432, MANY / 2),
    ])
    expect(of4).toEqual({ [captured(v4, 15_301, 5432)]: MANY / 2 })
    expect(of6).toEqual({ [captured(v6, 15_301, 5432)]: MANY / 2 })
  })
})

test('ports of the pod are redirected beside captures, and to undo leaves nothing', async () => {
  expect(await outside.reach(POD4, 3000)).toBe('ECONNREFUSED')
  await redirect('--port', '3000=15300', '--outbound', '5432=15301')
  for (const host of [POD4, POD6]) {
    expect(await outside.reach(host, 3000)).toBe(`${host}:15300`)
  }
  const [v4, v6] = DATABASES
  expect(await app.reach(v6, 5432)).toBe(captured(v6, 15_301, 5432))
  const undone = await network.squall('redirect', '--undo')
  expect(undone).toMatchObject({ code: 0, stdout: 'the redirect is removed\n' })
  expect((await network.run('nft', 'list', 'tables')).stdout).toBe('')
  for (const host of [v4, v6]) expect(await app.reach(host, 5432)).toBe(`${host}:5432`)
  expect(await outside.reach(POD4, 3000)).toBe('ECONNREFUSED')
})

test('the command prints what it captures', async () => {
  const flags = ['--port', '3000=15300', '--outbound', '5432=15301']
  const ran = await network.squall('redirect', ...flags, '--outbound', '[fd77::/16]:6379=15302')
  expect(ran).toEqual({
    code: 0,
    stdout:
      'redirecting 3000 to 15300, outbound 5432 to 15301, outbound [fd77::/16]:6379 to 15302\n',
    stderr: '',
  })
})
