import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { NUMBER, type Reader, readText } from '../../src/base/text/written-values.ts'
import { Occurred, WatchedValues } from '../../src/listener/falsified/watched-values.ts'
import { oneFault } from '../faults/one-fault.ts'
import { closers } from '../support/closers.ts'
import { lied, testLimits } from './false-value-limits.ts'
import {
  FALSE_PRICE,
  falsifies,
  type Message,
  shopAgent,
  type ShopAgent,
  WAYS,
} from './shop-agent.ts'

const opened = closers()

// The part slow tests each limit on the other ways.
testLimits((limit, way) => limit % WAYS.length === way)

const TRACED = {
  by: ['trace', 'session', 'client'],
  header: 'x-task-id',
  meta: undefined,
  window: 60_000,
  maxRetries: 3,
} as const

const traceOf = (n: number): string => `00-${String(n).repeat(32)}-00f067aa0ba902b7-01`

describe('over HTTP', () => {
  const TOO_LARGE = 300 * 1024

  it.each([
    ['a body above the limit', { note: 'x'.repeat(TOO_LARGE), amount: FALSE_PRICE }],
    ['a body that is no JSON-RPC', undefined],
  ])('does not send %s while a false value is out', async (_, args) => {
    const agent = await lied('json')
    const call = { jsonrpc: '2.0', id: 'u', method: 'tools/call' }
    const message = args === undefined ? { amount: FALSE_PRICE } : { name: 'pay', arguments: args }
    const [reply] = await agent.send([{ ...call, params: message, ...(args ?? { method: 1 }) }])
    expect(reply?.error?.message).toMatch(/^Squall blocked this request/)
    expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
  })

  const LARGE = { note: 'x'.repeat(TOO_LARGE), amount: 1 }
  const AS_TASK = { by: ['header', 'trace', 'session'] } as const

  it.each([
    ['its session', { by: ['session'] } as const, {}],
    ['its trace', AS_TASK, { traceparent: traceOf(2) }],
    ['a header', AS_TASK, { 'x-task-id': 'two' }],
  ])('sends a large body of another session, where %s names the task', async (_, by, other) => {
    const agent = opened(await shopAgent('json', [falsifies()], { ...TRACED, ...by }))
    const first = 'x-task-id' in other ? { 'x-task-id': 'one' } : { traceparent: traceOf(1) }
    await agent.in('first', 'get_quote', { id: 'Q-1' }, first)
    const { result } = await agent.in('another', 'pay', LARGE, other)
    expect(result).not.toHaveProperty('isError')
    if (by !== AS_TASK) return
    const { error } = await agent.in('third', 'pay', LARGE, first)
    expect(error?.message).toMatch(/^Squall blocked this request/)
  })

  it('does not look in other sessions', async () => {
    const agent = await lied('json')
    const { result } = await agent.in('another', 'pay', { amount: FALSE_PRICE })
    expect(result).not.toHaveProperty('isError')
    expect(agent.end()).toEqual(['not_seen'])
  })

  it('reads a compressed call', async () => {
    const agent = await lied('json')
    const params = { name: 'pay', arguments: { amount: FALSE_PRICE } }
    const message = { jsonrpc: '2.0', id: 'z', method: 'tools/call', params }
    const reply = await agent.sendBytes(gzipSync(JSON.stringify(message)))
    expect(reply[0]?.result).toMatchObject({ isError: true })
  })
})

it('follows sessions where tasks are not watched, and takes every tool as unknown', async () => {
  const agent = opened(await shopAgent('json', [falsifies()], null))
  await agent.call('get_quote', { id: 'Q-1' })
  const { result } = await agent.call('search', { q: String(FALSE_PRICE) })
  expect(result).toMatchObject({ isError: true })
  expect(agent.faults.verdicts).toEqual(['used_blocked'])
})

describe('where calls have traces', () => {
  const traced = async () => opened(await shopAgent('json', [falsifies()], TRACED))

  it.each([
    ['one trace', [1, 1, 1]],
    ['a trace each', [1, 2, 3]],
  ])('blocks a use, and gives the truth at the second look, in calls with %s', async (_, of) => {
    const agent = await traced()
    const look = () => agent.traced(traceOf(of[1]!), 'get_quote', { id: 'Q-1' })
    await agent.traced(traceOf(of[0]!), 'get_quote', { id: 'Q-1' })
    const used = await agent.traced(traceOf(of[1]!), 'pay', { amount: FALSE_PRICE })
    expect(used.result).toMatchObject({ isError: true })
    expect((await look()).result!.structuredContent).toMatchObject({ price: 3987.84 })
    const again = await agent.traced(traceOf(of[2]!), 'pay', { amount: FALSE_PRICE })
    expect(again.result).toMatchObject({ isError: true })
    expect(agent.faults.verdicts).toEqual(['used_blocked'])
    expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
  })

  it('does not look in the traces of other sessions', async () => {
    const agent = await traced()
    await agent.traced(traceOf(1), 'get_quote', { id: 'Q-1' })
    const { result } = await agent.traced(traceOf(2), 'pay', { amount: FALSE_PRICE }, 'another')
    expect(result).not.toHaveProperty('isError')
  })
})

/** Expects that the last result had the true price, and that nothing is untracked. */
async function expectRefusal(agent: ShopAgent, price: Message): Promise<void> {
  expect(price.result!.structuredContent).toMatchObject({ price: 3987.84 })
  const { notApplicable, verdicts } = agent.faults
  expect(notApplicable.map(({ reason }) => reason)).toEqual(['not_followed'])
  expect(verdicts).not.toContain('untracked')
}

it('does not send a false value that has occurred before', async () => {
  const agent = opened(await shopAgent('json', [falsifies()]))
  await agent.call('search', { q: 'not above 4,187.23' })
  await expectRefusal(agent, await agent.call('get_quote', { id: 'Q-1' }))
})

it('sends and follows a price in another unit, whose digits are those of the true one', async () => {
  const inUnits = oneFault('falsify: { unit: {}, at: /price }', 'match: { tool: get_quote }')
  const agent = opened(await shopAgent('json', [inUnits]))
  await agent.call('get_price', { id: 'Q-1' })
  const { result } = await agent.call('get_quote', { id: 'Q-1' })
  expect(result!.structuredContent).toMatchObject({ price: 3_987_840 })
  await agent.call('pay', { amount: 3987.84 })
  expect(agent.faults.falseUses).toEqual([])
  const used = await agent.call('pay', { amount: '3,987,840.00' })
  expect(used.result).toMatchObject({ isError: true })
  expect(agent.end()).toEqual(['used_blocked'])
})

it('does not send a price in another unit that has occurred before', async () => {
  const inUnits = oneFault('falsify: { unit: {}, at: /price }', 'match: { tool: get_quote }')
  const agent = opened(await shopAgent('json', [inUnits]))
  await agent.call('search', { q: 'at most 3,987,840 cents' })
  await expectRefusal(agent, await agent.call('get_quote', { id: 'Q-1' }))
})

it('does not send a false value in a session that has too many numbers to follow one', async () => {
  const agent = opened(await shopAgent('json', [falsifies()]))
  const numbers = Array.from({ length: 20_000 }, (_, i) => 100_003 + 7 * i)
  await agent.call('search', { numbers })
  await expectRefusal(agent, await agent.call('get_quote', { id: 'Q-1' }))
})

it('blocks a call that has too many numbers to look for a false value', async () => {
  const agent = await lied('json')
  const numbers = Array.from({ length: 20_000 }, (_, i) => 500_001 + i)
  const { result } = await agent.call('pay', { numbers, amount: FALSE_PRICE })
  expect(result).toMatchObject({ isError: true })
  expect(JSON.stringify(result)).toContain('too many numbers')
  expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
  // Such a call is no proof of a use.
  expect(agent.faults.falseUses).toMatchObject([{ isUnread: true }])
  expect(agent.end()).toEqual(['not_seen'])
})

it('blocks such a call also where it uses another value that it may use', async () => {
  const allowed = falsifies(', onUse: allow', 'match: { tool: get_price }')
  const agent = opened(await shopAgent('json', [falsifies(), { ...allowed, name: 'allowed' }]))
  await agent.call('get_quote', { id: 'Q-1' })
  const { result: price } = await agent.call('get_price', { id: 'Q-2' })
  const text = JSON.stringify(price)
  const numbers = Array.from({ length: 20_000 }, (_, i) => 500_001 + i)
  const { result } = await agent.call('pay', { text, numbers, amount: FALSE_PRICE })
  expect(result).toMatchObject({ isError: true })
  expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
})

it('leaves other readers of numbers at the start of their texts', () => {
  const values = new WatchedValues<string>()
  readText('12345 '.repeat(30_000), values)
  expect([...'costs 4187.23'.matchAll(NUMBER)]).toHaveLength(1)
})

it('reads no more than a part of a message in a turn of the event loop', () => {
  const values = new WatchedValues<string>()
  values.occurred = new Occurred()
  values.addNumber('12345e0', 'price')
  let numbers = 0
  const reader: Reader = {
    wantsWords: false,
    get isDone() {
      return values.isDone
    },
    words: () => {},
    number: (form) => {
      numbers++
      values.number(form)
    },
    glancer: values.glancer,
  }
  for (const text of ['12345,'.repeat(170_000), '12345 '.repeat(170_000)]) {
    numbers = 0
    readText(text, reader)
    expect(numbers).toBeLessThan(20_010)
    values.take()
  }
  expect(values.occurred.isFull).toBe(true)
})

it('glances at hostile texts in linear time', () => {
  const values = new WatchedValues<string>()
  values.addNumber('418723e-2', 'price')
  const spent = (text: string): number => {
    const began = process.cpuUsage()
    readText(text, values)
    values.take()
    const { user, system } = process.cpuUsage(began)
    return user + system
  }
  for (const piece of ['7\\', '7,', '7 777 ', '\\u00207,', '\\n7.', '0.'.repeat(9)]) {
    spent(piece.repeat(1_000))
    const [short, long] = [200_000, 1_600_000].map((size) =>
      spent(piece.repeat(size / piece.length)),
    )
    // Eight times the text; quadratic time would be 64 times as long.
    expect(long!, piece).toBeLessThan(24 * short! + 20_000)
  }
})

it('falsifies no more results than it may, and blocks their values', async () => {
  const agent = opened(await shopAgent('json', [falsifies()]))
  for (let i = 0; i < 16; i++) await agent.call('get_quote', { id: 'Q-1', i })
  expect(agent.faults.counts()).toMatchObject({ injected: 16 })
  await expectRefusal(agent, await agent.call('get_quote', { id: 'Q-1', i: 16 }))
  const { result } = await agent.call('pay', { amount: FALSE_PRICE })
  expect(result).toMatchObject({ isError: true })
  expect(agent.faults.falseUses).toHaveLength(1)
})
