import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { lied, testLimits } from './false-value-limits.ts'
import { FALSE_PRICE, falsifies, shopAgent, WAYS } from './shop-agent.ts'

const opened = closers()

// The part slow tests each limit on the other ways.
testLimits((limit, way) => limit % WAYS.length === way)

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

  it('sends a large body of another session', async () => {
    const agent = await lied('json')
    const other = opened(await shopAgent('json', [falsifies()]))
    const { result } = await other.call('pay', { note: 'x'.repeat(TOO_LARGE), amount: 1 })
    expect(result).not.toHaveProperty('isError')
    expect(agent.faults.falseUses).toEqual([])
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
  const TRACED = {
    by: ['trace', 'session', 'client'],
    header: 'x-task-id',
    meta: undefined,
    window: 60_000,
    maxRetries: 3,
  } as const
  const traced = async () => opened(await shopAgent('json', [falsifies()], TRACED))
  const trace = (n: number): string => `00-${String(n).repeat(32)}-00f067aa0ba902b7-01`

  it.each([
    ['one trace', [1, 1, 1]],
    ['a trace each', [1, 2, 3]],
  ])('blocks a use, and gives the truth at the second look, in calls with %s', async (_, of) => {
    const agent = await traced()
    const look = () => agent.traced(trace(of[1]!), 'get_quote', { id: 'Q-1' })
    await agent.traced(trace(of[0]!), 'get_quote', { id: 'Q-1' })
    const used = await agent.traced(trace(of[1]!), 'pay', { amount: FALSE_PRICE })
    expect(used.result).toMatchObject({ isError: true })
    expect((await look()).result!.structuredContent).toMatchObject({ price: 3987.84 })
    const again = await agent.traced(trace(of[2]!), 'pay', { amount: FALSE_PRICE })
    expect(again.result).toMatchObject({ isError: true })
    expect(agent.faults.verdicts).toEqual(['used_blocked'])
    expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
  })

  it('does not look in the traces of other sessions', async () => {
    const agent = await traced()
    await agent.traced(trace(1), 'get_quote', { id: 'Q-1' })
    const { result } = await agent.traced(trace(2), 'pay', { amount: FALSE_PRICE }, 'another')
    expect(result).not.toHaveProperty('isError')
  })
})

it('does not follow a value that has occurred before', async () => {
  const agent = opened(await shopAgent('json', [falsifies()]))
  await agent.call('search', { q: 'not above 4,187.23' })
  await agent.call('get_quote', { id: 'Q-1' })
  await agent.call('pay', { amount: FALSE_PRICE })
  expect(agent.faults.verdicts).toEqual(['untracked'])
  expect((await agent.executed()).map(([tool]) => tool)).toContain('pay')
})

it('follows no more results than it may, and blocks the values of the first', async () => {
  const agent = opened(await shopAgent('json', [falsifies()]))
  for (let i = 0; i < 3; i++) await agent.call('get_quote', { id: 'Q-1', i })
  // There are two false prices, one above and one below the true one: the third result repeats one.
  const { verdicts, falseUses } = agent.faults
  expect(agent.faults.counts()).toMatchObject({ injected: 3 })
  expect(verdicts).toEqual(['untracked'])
  const { result } = await agent.call('pay', { amount: FALSE_PRICE })
  expect(result).toMatchObject({ isError: true })
  expect(falseUses).toHaveLength(1)
})
