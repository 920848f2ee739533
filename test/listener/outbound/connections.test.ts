import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { RuleSpec } from '../../../src/rules/file/rule-spec.ts'
import { familyIn } from '../../telemetry/exposition.ts'
import { eventually } from '../../support/eventually.ts'
import { startSidecar, startUpstream } from '../../support/wire.ts'
import { type Carried, connectionRule, echoed, endOf, refusal, startCarried } from './carried.ts'

let carried: Carried | undefined
afterEach(() => carried?.close())

/** The connections that have ended, by outcome and origin. */
async function ended({ squall }: Carried): Promise<Readonly<Record<string, number>>> {
  const { lines } = familyIn(await squall.metrics(), 'squall_outbound_connections_total') ?? {
    lines: [],
  }
  return Object.fromEntries(
    lines.map(({ labels, value }) => [`${labels['outcome']} ${labels['origin']}`, value]),
  )
}

test('bytes, a half-closed connection and a reset pass as they are', async () => {
  carried = await startCarried()
  const half = await carried.open()
  expect(await echoed(half, 'one')).toBe('one')
  const chunks: Buffer[] = []
  half.on('data', (chunk: Buffer) => chunks.push(chunk)).end('two')
  await once(half, 'end')
  expect(Buffer.concat(chunks).toString()).toBe('two')
  const reset = await carried.open()
  await echoed(reset, 'x')
  carried.accepted[1]!.resetAndDestroy()
  expect(await endOf(reset)).toBe('ECONNRESET')
  const here = carried
  await eventually(async () => {
    const counts = await ended(here)
    return counts['ok real'] === 1 && counts['reset real'] === 1
      ? undefined
      : JSON.stringify(counts)
  })
  const bytes = familyIn(await carried.squall.metrics(), 'squall_outbound_bytes_total')!.lines
  expect(bytes.map(({ labels, value }) => [labels['direction'], value])).toEqual([
    ['sent', 7],
    ['received', 7],
  ])
})

test('a large transfer arrives whole while the receiver is slow', async () => {
  carried = await startCarried()
  const socket = await carried.open()
  const size = 8 * 1024 * 1024
  let received = 0
  let pauses = 0
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (pauses++ % 16 > 0) return
    socket.pause()
    setImmediate(() => socket.resume())
  })
  socket.end(Buffer.alloc(size, 'a'))
  await once(socket, 'end')
  expect(received).toBe(size)
})

test('a refused connection of the dependency is counted and resets the client', async () => {
  carried = await startCarried()
  const { squall } = carried
  const port = await unusedPort()
  const listen = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
  const target = { text: 'gone:1', host: '127.0.0.1', port }
  const other = await startSidecar({
    upstream: respond,
    outbound: [{ listen, targets: [target], isCaptured: false }],
  })
  const socket = connect(other.ports[1]!, '127.0.0.1').on('error', () => undefined)
  expect(await endOf(socket)).toBe('ECONNRESET')
  await eventually(async () => {
    const counts = await ended({ ...carried!, squall: other })
    return counts['refused real'] === 1 ? undefined : JSON.stringify(counts)
  })
  await other.close()
  expect(squall.ports).toHaveLength(2)
})

test('a blackhole holds open and new connections, and lets everything pass afterwards', async () => {
  carried = await startCarried([])
  const rules = carried.squall.faults!
  const open = await carried.open()
  await echoed(open, 'before')
  rules.take([connectionRule({ blackhole: true }, { port: carried.dependency })])
  await eventually(() => (rules.injected.length > 0 ? undefined : 'no fault yet'))
  const back = once(open, 'data') as Promise<[Buffer]>
  open.write('held')
  const fresh = await carried.open()
  const first = once(fresh, 'data') as Promise<[Buffer]>
  fresh.write('waits')
  await eventually(() => (rules.injected.length === 2 ? undefined : 'one fault yet'))
  expect(carried.accepted).toHaveLength(1)
  expect(carried.accepted[0]!.bytesRead).toBe('before'.length)
  rules.take([])
  expect(String((await back)[0])).toBe('held')
  expect(String((await first)[0])).toBe('waits')
})

test('a blackhole drops a connection whose client has given up, and never makes it', async () => {
  carried = await startCarried([connectionRule({ blackhole: true }, { host: '127.0.0.1' })])
  const rules = carried.squall.faults!
  const impatient = await carried.open()
  impatient.end('nobody waits')
  await endOf(impatient)
  const patient = await carried.open()
  patient.write('waits')
  await eventually(() => (rules.injected.length === 2 ? undefined : 'one fault yet'))
  rules.take([])
  await once(patient, 'data')
  expect(carried.accepted).toHaveLength(1)
  expect(await ended(carried)).toEqual({ 'blackhole injected': 1 })
})

test('refuse closes the listener and resets open connections, until it is disarmed', async () => {
  carried = await startCarried([])
  const rules = carried.squall.faults!
  const open = await carried.open()
  await echoed(open, 'x')
  rules.take([connectionRule({ refuse: true }, { port: carried.dependency })])
  expect(await endOf(open)).toBe('ECONNRESET')
  const port = carried.squall.ports[1]!
  expect(await refusal(port)).toBe('ECONNREFUSED')
  rules.rules.states.disarm('test')
  await eventually(async () => ((await refusal(port)) === undefined ? undefined : 'still refused'))
  expect(await echoed(await carried.open(), 'back')).toBe('back')
  expect(await ended(carried)).toMatchObject({ 'refused injected': 1 })
})

test('refuse with a share resets those connections alone', async () => {
  carried = await startCarried([])
  const rule = connectionRule({ refuse: true }, { port: carried.dependency }, { times: 1 })
  carried.squall.faults!.take([rule])
  const first = connect(carried.squall.ports[1]!, '127.0.0.1').on('error', () => undefined)
  expect(await endOf(first)).toBe('ECONNRESET')
  expect(await echoed(await carried.open(), 'second')).toBe('second')
  expect(carried.squall.faults!.counts()).toMatchObject({
    matched: 2,
    sampled: 1,
    quota_used: 1,
    injected: 1,
  })
})

test('latency delays each direction, and bandwidth sends small steps', async () => {
  carried = await startCarried([connectionRule({ latency: 60, jitter: 5 }, { host: '127.0.0.1' })])
  const slow = await carried.open()
  const started = performance.now()
  expect(await echoed(slow, 'late')).toBe('late')
  expect(performance.now() - started).toBeGreaterThanOrEqual(118)
  carried.squall.faults!.take([connectionRule({ bandwidth: 10_000 }, { host: '127.0.0.1' })])
  const steps: number[] = []
  const narrow = await carried.open()
  narrow.on('data', (chunk: Buffer) => steps.push(chunk.length)).end('y'.repeat(2_000))
  await once(narrow, 'end')
  expect(steps.reduce((sum, step) => sum + step, 0)).toBe(2_000)
  expect(steps.length).toBeGreaterThan(1)
})

test('jitter is the same for the same seed', async () => {
  const rules = [connectionRule({ latency: 1, jitter: 300 }, { host: '127.0.0.1' })]
  const times = async (each: Carried): Promise<number[]> => {
    const sockets: Socket[] = []
    while (sockets.length < 16) sockets.push(await each.open())
    const started = performance.now()
    return Promise.all(
      sockets.map((socket) => echoed(socket, 'x').then(() => performance.now() - started)),
    )
  }
  carried = await startCarried(rules)
  const other = await startCarried(rules)
  try {
    const [one, again] = await Promise.all([times(carried), times(other)])
    // A busy machine delays all of them: their order stays. Another seed swaps half of the pairs.
    const isSwapped = (a: number, b: number): boolean => one[a]! < one[b]! !== again[a]! < again[b]!
    const pairs = one.flatMap((_, a) => again.slice(0, a).map((_time, b) => isSwapped(a, b)))
    expect(pairs.filter(Boolean).length).toBeLessThan(pairs.length / 4)
    expect(Math.max(...one) - Math.min(...one)).toBeGreaterThan(100)
  } finally {
    await other.close()
  }
})

test('cut lets exactly so many bytes of the dependency pass', async () => {
  carried = await startCarried([connectionRule({ cut: 5 }, { host: '127.0.0.1' })])
  const socket = connect(carried.squall.ports[1]!, '127.0.0.1').on('error', () => undefined)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).write('0123456789')
  // libuv reports a reset that arrives together with bytes as an end.
  await endOf(socket)
  expect(Buffer.concat(chunks).toString()).toBe('01234')
  expect(await ended(carried)).toEqual({ 'cut injected': 1 })
})

test('bytes that a fault holds still arrive when a side has ended', async () => {
  carried = await startCarried([connectionRule({ latency: 40 }, { host: '127.0.0.1' })])
  const socket = connect(carried.squall.ports[1]!, '127.0.0.1')
  const size = 200_000
  socket.end(Buffer.alloc(size, 'z'))
  let received = 0
  socket.on('data', (chunk: Buffer) => (received += chunk.length))
  expect(await endOf(socket)).toBeUndefined()
  expect(received).toBe(size)
  const here = carried
  await eventually(async () =>
    (await ended(here))['ok real'] === 1 ? undefined : JSON.stringify(await ended(here)),
  )
})

test('a limit that no connection reaches is not counted as a fault', async () => {
  carried = await startCarried([connectionRule({ cut: 1_000_000 }, { host: '127.0.0.1' })])
  const socket = await carried.open()
  expect(await echoed(socket, 'short')).toBe('short')
  socket.end()
  await endOf(socket)
  const here = carried
  await eventually(async () => ((await ended(here))['ok real'] === 1 ? undefined : 'open'))
  expect(carried.squall.faults!.counts()).toMatchObject({ sampled: 1, injected: 0 })
})

test('the listener stays open where an earlier rule stops the one that refuses', async () => {
  carried = await startCarried([])
  const any = { host: '127.0.0.1' }
  const stops = JSON.parse('{"then":"stop"}') as Partial<RuleSpec>
  carried.squall.faults!.take([
    { ...connectionRule({ latency: 1 }, any, stops), name: 'first' },
    connectionRule({ refuse: true }, any),
  ])
  const { faults } = carried.squall
  const sockets = [await carried.open(), await carried.open()]
  await eventually(() => (faults!.counts(0).matched === 2 ? undefined : 'not matched yet'))
  expect(await refusal(carried.squall.ports[1]!)).toBeUndefined()
  for (const socket of sockets) socket.destroy()
})

test.each([
  [{ latency: 1 }, false],
  [{ bandwidth: 1_000_000 }, false],
  [{ latency: 2_000 }, true],
  [{ blackhole: true }, true],
])('failed calls are put down to %j: %s', async (config, isCause) => {
  carried = await startCarried([connectionRule(config, { host: '127.0.0.1' })])
  const { faults } = carried.squall
  const socket = await carried.open()
  await eventually(() => (faults!.injected.length > 0 ? undefined : 'no fault yet'))
  expect(faults!.connections.isAtWork(performance.now())).toBe(isCause)
  socket.destroy()
})

test('a fault whose rule ends between two looks does not stay', async () => {
  carried = await startCarried([])
  const rules = carried.squall.faults!
  rules.take([connectionRule({ blackhole: true }, { host: '127.0.0.1' })])
  const socket = await carried.open()
  const back = once(socket, 'data') as Promise<[Buffer]>
  socket.write('soon')
  rules.take([])
  expect(String((await back)[0])).toBe('soon')
})

test('a dry run counts connections and changes nothing', async () => {
  carried = await startCarried([
    connectionRule({ reset: true }, { host: '127.0.0.1' }, { dryRun: true }),
  ])
  const socket = await carried.open()
  expect(await echoed(socket, 'fine')).toBe('fine')
  socket.destroy()
  expect(carried.squall.faults!.counts()).toMatchObject({ matched: 1, dry_run: 1, injected: 0 })
})

test('connections beyond the limit are reset and counted', async () => {
  carried = await startCarried()
  const { squall, dependency } = carried
  const listen = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
  const target = { text: 'db:1', host: '127.0.0.1', port: dependency }
  const small = await startSidecar({
    upstream: respond,
    maxConnections: 1,
    outbound: [{ listen, targets: [target], isCaptured: false }],
  })
  const first = connect(small.ports[1]!, '127.0.0.1')
  expect(await echoed(first, 'in')).toBe('in')
  const second = connect(small.ports[1]!, '127.0.0.1').on('error', () => undefined)
  expect(await endOf(second)).toBe('ECONNRESET')
  expect(await ended({ ...carried, squall: small })).toEqual({ 'overload real': 1 })
  first.destroy()
  await small.close()
  expect(squall.ports).toHaveLength(2)
})

function respond(_req: IncomingMessage, res: ServerResponse): void {
  res.end()
}

/** Returns a port on which nobody listens. */
async function unusedPort(): Promise<number> {
  const app = await startUpstream(createServer())
  await app.close()
  return app.port
}
