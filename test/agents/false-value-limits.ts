import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { FALSE_PRICE, falsifies, shopAgent, type Way, WAYS } from './shop-agent.ts'

const opened = closers()

/** An agent that got a false price. */
export async function lied(way: Way, keys = '') {
  const agent = opened(await shopAgent(way, [falsifies(keys)]))
  await agent.call('get_quote', { id: 'Q-1' })
  return agent
}

const findsTheTrueValue = async (way: Way, padding: number): Promise<void> => {
  const agent = await lied(way)
  await agent.call('get_price', { id: 'Q-1', padding })
  expect(agent.end()).toEqual(['verified'])
}

const LIMITS: Readonly<Record<string, (way: Way) => Promise<void>>> = {
  'looks at a large call before it is sent': async (way) => {
    const agent = await lied(way)
    const note = 'x '.repeat(50_000)
    const { result } = await agent.call('pay', { note, amount: FALSE_PRICE, more: note })
    expect(result).toMatchObject({ isError: true })
    expect((await agent.executed()).map(([tool]) => tool)).not.toContain('pay')
  },
  'finds the true value in a large result': (way) => findsTheTrueValue(way, 4_000),
  'finds the true value in a larger result': (way) => findsTheTrueValue(way, 40_000),
  'blocks every further use, and counts the result once': async (way) => {
    const agent = await lied(way)
    for (let i = 0; i < 3; i++) await agent.call('pay', { amount: FALSE_PRICE, i })
    expect(agent.end()).toEqual(['used_blocked'])
    expect(agent.faults.falseUses).toHaveLength(3)
    expect((await agent.executed()).map(([tool]) => tool)).toEqual(['get_quote'])
  },
  'blocks a use after the rules are disarmed': async (way) => {
    const agent = await lied(way)
    agent.faults.rules.states.disarm('test')
    const { result } = await agent.call('pay', { amount: FALSE_PRICE })
    expect(result).toMatchObject({ isError: true })
  },
  'blocks a use in a tool that reads, where the rule asks for it': async (way) => {
    const agent = await lied(way, ', onUse: block')
    const { result } = await agent.call('search', { q: String(FALSE_PRICE) })
    expect(result).toMatchObject({ isError: true })
  },
}

/** Tests each limit on the ways that `isTested` names, by the numbers of limit and way. */
export function testLimits(isTested: (limit: number, way: number) => boolean): void {
  const all = Object.entries(LIMITS)
  describe.each(WAYS)('%s', (way) => {
    const tested = all.filter((_, at) => isTested(at, WAYS.indexOf(way)))
    it.each(tested)('%s', (_, test) => test(way))
  })
}
