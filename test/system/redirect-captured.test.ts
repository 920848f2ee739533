// part: pod
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { mountRules, type MountedRules } from '../live/rules-directory.ts'
import { PATIENCE } from './patience.ts'
import { startCluster } from '../support/cluster.ts'
import { ADDRESSES, EXEMPT, type Peer, type PodNetwork } from './pod-network.ts'

const [V4, V6] = ADDRESSES.outside
const TARGETS = { [V4]: `${V4}:5432`, [V6]: `[${V6}]:5432` } as const
const POLL = { timeout: PATIENCE }
const MANY = 10_000
const NO_RULES = 'rules: []\n'
const PORT_RANGE = '/proc/sys/net/ipv4/ip_local_port_range'
const METRICS = `fetch('http://127.0.0.1:15390/metrics').then(async (r) => console.log(await r.text()))`

let network: PodNetwork
let rules: MountedRules
let app: Peer
let outside: Peer

beforeAll(async () => {
  network = await startCluster('network')
  rules = await mountRules(NO_RULES)
  outside = await network.peer('outside')
  for (const port of [5432, 6379]) await outside.greet(port)
  await outside.serve(V4, 8080)
  app = await network.peer('pod')
  const captured = Object.values(TARGETS).flatMap((target) => ['--captured', `15301=${target}`])
  captured.push('--captured', `15302=http://${V4}:8080`)
  // Connections may wait for a machine that stands still.
  captured.push('--connect-timeout', '30s')
  await network.startExempt(...captured, '--admin', '[::]:15390', '--rules', rules.file)
  const { code, stderr } = await network.squall(
    'redirect',
    '--outbound',
    '5432=15301',
    '--outbound',
    '8080=15302',
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

afterAll(async () => {
  await network?.close()
  await rules?.remove()
})

/** Returns the sum of a metric over the series of a destination that have the label. */
async function sumOf(metric: string, target: string, label = ''): Promise<number> {
  const { stdout } = await network.run(process.execPath, '-e', METRICS)
  return stdout
    .split('\n')
    .filter((line) => line.startsWith(`squall_outbound_${metric}{`) && line.includes(label))
    .filter((line) => line.includes(`destination="${target}"`))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Returns how many connections ended well; waits for open ones, which are counted later. */
async function counted(target: string): Promise<number> {
  await expect.poll(() => sumOf('open_connections', target), POLL).toBe(0)
  return sumOf('connections_total', target, 'outcome="ok"')
}

function broken(cidr: string, fault: string): string {
  const match = `{ outbound: { cidr: '${cidr}', port: 5432 } }`
  return `rules:\n  - name: gone\n    match: ${match}\n    faults: [connection: { ${fault}: true }]\n`
}

test('squall run connects captured connections to their destinations, and counts each', async () => {
  for (const [host, target] of Object.entries(TARGETS)) {
    const before = await counted(target)
    expect(await app.reach(host, 5432)).toBe(`${host}:5432`)
    await expect.poll(() => counted(target), POLL).toBe(before + 1)
  }
})

test('a fault acts on one destination of the port, and on nothing else', async () => {
  await rules.swap(broken(`${V6}/128`, 'reset'))
  await expect.poll(() => app.reach(V6, 5432), POLL).toBe('ECONNRESET')
  expect(await app.reach(V4, 5432)).toBe(`${V4}:5432`)
  expect(await app.reach(V6, 6379)).toBe(`${V6}:6379`)
  await rules.swap(NO_RULES)
  await expect.poll(() => app.reach(V6, 5432), POLL).toBe(`${V6}:5432`)
})

test('captured HTTP is read: rules about calls act on it', async () => {
  expect(await app.call(V4, 8080, 'kept')).toBe('fine')
  const match = '{ tool: probe, outbound: { port: 8080 } }'
  await rules.swap(
    `rules:\n  - name: remote-fails\n    match: ${match}\n    faults: [abort: { status: 503, body: injected }]\n`,
  )
  await expect.poll(() => app.call(V4, 8080, 'kept'), POLL).toBe('injected')
  expect(await app.call(V4, 8080)).toBe('injected')
  await rules.swap(NO_RULES)
  await expect.poll(() => app.call(V4, 8080), POLL).toBe('fine')
})

// The kernel keeps a connection that was reset for 10 s, and its translation with it. A connection
// of the sidecar from the same port was translated as well, and came back to the sidecar.
test('a port whose connection was reset leads the sidecar to the destination', async () => {
  const sidecar = await network.peer('pod', EXEMPT)
  for (const [i, host] of [V4, V6].entries()) {
    const port = 20_000 + i
    await rules.swap(broken(host, 'reset'))
    await expect.poll(() => app.reach(host, 5432), POLL).toBe('ECONNRESET')
    expect(await app.reach(host, 5432, port)).toBe('ECONNRESET')
    expect(await sidecar.reach(host, 5432, port)).toBe(`${host}:5432`)
    await expect.poll(() => app.reach(host, 5432, port), POLL).toBe('ECONNRESET')
  }
  await rules.swap(NO_RULES)
  for (const host of [V4, V6]) {
    await expect.poll(() => app.reach(host, 5432), POLL).toBe(`${host}:5432`)
  }
})

test('the app connects from a port from which the sidecar is connected to another port', async () => {
  expect(await app.call(V4, 8080, 'kept')).toBe('fine')
  const established = ['-Htn', 'state', 'established', 'dst', `${V4}:8080`]
  const { stdout } = await network.run('ss', ...established)
  const taken = [...stdout.matchAll(/:(\d+) +\S+:8080\b/g)].map(([, port]) => Number(port))
  // The app's connection and that of the sidecar.
  expect(taken.length).toBeGreaterThanOrEqual(2)
  const { stdout: range } = await network.run('cat', PORT_RANGE)
  const limitPorts = (to: string): Promise<unknown> =>
    network.run('sh', '-c', `echo ${to} > ${PORT_RANGE}`)
  onTestFinished(async () => void (await limitPorts(range.trim())))
  for (const port of taken) {
    await limitPorts(`${port} ${port + 1}`)
    expect(await app.reach(V4, 5432)).toBe(`${V4}:5432`)
  }
})

test('a database that refuses does so for the app as the kernel of another machine does', async () => {
  const match = '{ outbound: { port: 5432 } }'
  await rules.swap(
    `rules:\n  - name: gone\n    match: ${match}\n    faults: [connection: { refuse: true }]\n`,
  )
  for (const host of [V4, V6]) {
    await expect.poll(() => app.reach(host, 5432), POLL).toBe('ECONNREFUSED')
  }
  await rules.swap(NO_RULES)
  for (const host of [V4, V6]) {
    await expect.poll(() => app.reach(host, 5432), POLL).toBe(`${host}:5432`)
  }
})

test(`${MANY} connections of the app reach their destination`, async () => {
  const before = [await counted(TARGETS[V4]), await counted(TARGETS[V6])]
  const [of4, of6] = await Promise.all([
    app.reachOften(V4, 5432, MANY / 2),
    app.reachOften(V6, 5432, MANY / 2),
  ])
  expect(of4).toEqual({ [`${V4}:5432`]: MANY / 2 })
  expect(of6).toEqual({ [`${V6}:5432`]: MANY / 2 })
  const after = async () => [await counted(TARGETS[V4]), await counted(TARGETS[V6])]
  await expect.poll(after, POLL).toEqual(before.map((count) => count + MANY / 2))
})

test('a sidecar outside of its group does not go round in circles', async () => {
  for (const port of [7000, 7001]) await outside.greet(port)
  const captured = [`15305=${V4}:7000`, `15306=http://${V4}:7001`]
  await network.start(
    ...captured.flatMap((each) => ['--captured', each]),
    '--admin',
    '127.0.0.1:15391',
  )
  const outbound = ['5432=15301', '8080=15302', '7000=15305', '7001=15306']
  await network.squall('redirect', ...outbound.flatMap((each) => ['--outbound', each]))
  expect(await app.reach(V4, 7000)).toBe('ECONNRESET')
  expect(await app.call(V4, 7001)).toContain('"error"')
  let stdout = ''
  const ended = async (): Promise<number> => {
    ;({ stdout } = await network.run(process.execPath, '-e', METRICS.replace('15390', '15391')))
    const line = /^squall_outbound_connections_total\{destination="[^"]*7000".* (\d+)$/m
    return Number(line.exec(stdout)?.[1])
  }
  await expect.poll(ended).toBeGreaterThan(0)
  expect(await ended()).toBeLessThan(3)
  const calls = [...stdout.matchAll(/^squall_calls_total\{.* (\d+)$/gm)]
  expect(calls.reduce((sum, [, count]) => sum + Number(count), 0)).toBeLessThan(3)
})

test('nobody else reaches the listener; without captures the app connects by itself', async () => {
  for (const peer of [app, outside]) {
    for (const host of ADDRESSES.pod) expect(await peer.reach(host, 15_301)).toBe('ECONNREFUSED')
  }
  expect((await network.squall('redirect', '--undo')).code).toBe(0)
  const before = await counted(TARGETS[V4])
  expect(await app.reach(V4, 5432)).toBe(`${V4}:5432`)
  expect(await counted(TARGETS[V4])).toBe(before)
})
