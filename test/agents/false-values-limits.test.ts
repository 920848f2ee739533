import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { FALSE_PRICE, falsifies, shopAgent, WAYS } from './shop-agent.ts'

const opened = closers()
const lied = async (way: (typeof WAYS)[number], keys = '') => {
  const agent = opened(await shopAgent(way, [falsifies(keys)]))
  await agent.call('get_quote', { id: 'Q-1' })
  return agent
}

describe.each(WAYS)('%s', (way) => {
  it('looks at a large call before it is sent', async () => {
    const agent = await lied(way)
    const note = 'x '.repeat(50_000)
    const { result } = await agent.call('pay', { note, amount: FALSE_PRICE, more: note })
    expect(result).toMatchObject({ isError: true })
    expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
  })

  it.each([4_000, 40_000])('finds the true value in a large result', async (padding) => {
    const agent = await lied(way)
    await agent.call('get_price', { id: 'Q-1', padding })
    expect(agent.end()).toEqual(['verified'])
  })

  it('blocks every further use, and counts the result once', async () => {
    const agent = await lied(way)
    for (let i = 0; i < 3; i++) await agent.call('pay', { amount: FALSE_PRICE, i })
    expect(agent.end()).toEqual(['used_blocked'])
    expect(agent.faults.falseUses).toHaveLength(3)
    expect((await agent.executed()).map(([tool]) => tool)).toEqual(['get_quote'])
  })

  it('blocks a use after the rules are disarmed', async () => {
    const agent = await lied(way)
    agent.faults.rules.states.disarm('test')
    const { result } = await agent.call('pay', { amount: FALSE_PRICE })
    expect(result).toMatchObject({ isError: true })
  })

  it('blocks a use in a tool that reads, where the rule asks for it', async () => {
    const agent = await lied(way, ', onUse: block')
    const { result } = await agent.call('search', { q: String(FALSE_PRICE) })
    expect(result).toMatchObject({ isError: true })
  })
})

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
  // The same value has occurred by then.
  expect(agent.faults.verdicts).toEqual(['untracked', 'untracked'])
  const { result } = await agent.call('pay', { amount: FALSE_PRICE })
  expect(result).toMatchObject({ isError: true })
})
