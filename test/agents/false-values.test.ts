import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { testScripts } from './false-value-scripts.ts'
import { FALSE_PRICE, falsifies, shopAgent, WAYS } from './shop-agent.ts'

const opened = closers()

// The part slow plays each script over the other ways.
testScripts((script, way) => script % WAYS.length === way)

describe.each(WAYS)('%s: a call that is blocked', (way) => {
  it('gets a tool error that names Squall', async () => {
    const agent = opened(await shopAgent(way, [falsifies()]))
    await agent.call('get_quote', { id: 'Q-1' })
    const { result } = await agent.call('pay', { amount: FALSE_PRICE })
    expect(result).toMatchObject({ isError: true })
    expect(result!.content![0]!.text).toMatch(/^Squall blocked this call/)
  })
})

it('blocks one call of a batch and sends the rest', async () => {
  const agent = opened(await shopAgent('json', [falsifies()]))
  await agent.call('get_quote', { id: 'Q-1' })
  const calls = [120, FALSE_PRICE, 130].map((amount, index) => ({
    jsonrpc: '2.0',
    id: `b${index}`,
    method: 'tools/call',
    params: { name: 'pay', arguments: { amount } },
  }))
  const replies = await agent.send(calls)
  const blocked = replies.filter(({ result }) => result?.isError === true)
  expect(blocked.map(({ id }) => id)).toEqual(['b1'])
  const paid = (await agent.executed()).filter(([tool]) => tool === 'pay')
  expect(paid.map(([, { amount }]) => amount)).toEqual([120, 130])
})
