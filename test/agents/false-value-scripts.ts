import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { FALSE_PRICE, falsifies, shopAgent, type ShopAgent, type Way, WAYS } from './shop-agent.ts'

const opened = closers()

interface Script {
  readonly does: (agent: ShopAgent) => Promise<unknown>
  readonly verdict: string
  /** The tools that were called with a false value, each with what it declares. */
  readonly uses?: readonly string[]
  /** Further parameters of the fault. */
  readonly keys?: string
}

const quote = (agent: ShopAgent) => agent.call('get_quote', { id: 'Q-1' })
const pay = (amount: unknown) => async (agent: ShopAgent) => {
  await quote(agent)
  await agent.call('pay', { amount })
}

const SCRIPTS: Readonly<Record<string, Script>> = {
  'looks again at once': {
    does: async (agent) => {
      await quote(agent)
      await quote(agent)
      await agent.call('pay', { amount: 3987.84 })
    },
    verdict: 'verified',
  },
  'compares with another tool': {
    does: async (agent) => {
      await quote(agent)
      await agent.call('get_price', { id: 'Q-1' })
      await agent.call('pay', { amount: 3987.84 })
    },
    verdict: 'verified',
  },
  'searches with the value': {
    does: async (agent) => {
      await quote(agent)
      await agent.call('search', { q: `below ${FALSE_PRICE} EUR` })
    },
    verdict: 'used',
    uses: ['search read_only'],
  },
  'pays with the value': {
    does: pay(FALSE_PRICE),
    verdict: 'used_blocked',
    uses: ['pay destructive'],
  },
  'pays with the value, which is allowed': {
    does: pay(FALSE_PRICE),
    keys: ', onUse: allow',
    verdict: 'used',
    uses: ['pay destructive'],
  },
  'pays with a rounded value': {
    does: pay(4190),
    verdict: 'used_blocked',
    uses: ['pay destructive'],
  },
  'pays with the value in prose': {
    does: pay('Please pay €4,187.23 by Friday.'),
    verdict: 'used_blocked',
    uses: ['pay destructive'],
  },
  'pays with the value as it is written elsewhere': {
    does: pay({ total: ['4.187,23 €'] }),
    verdict: 'used_blocked',
    uses: ['pay destructive'],
  },
  'uses the value in a tool that declares nothing': {
    does: async (agent) => {
      await quote(agent)
      await agent.call('draft', { text: 'Amount: 4187.23' })
    },
    verdict: 'used_blocked',
    uses: ['draft unknown'],
  },
  'uses the value where nothing is destroyed': {
    does: async (agent) => {
      await quote(agent)
      await agent.call('note', { text: 'Amount: 4187.23' })
    },
    verdict: 'used',
    uses: ['note additive'],
  },
  'ignores the value': {
    does: async (agent) => {
      await quote(agent)
      await agent.call('pay', { amount: 120, to: 'Q-1' })
    },
    verdict: 'not_seen',
  },
  'pays with the value after it looked again': {
    does: async (agent) => {
      await quote(agent)
      await quote(agent)
      await agent.call('pay', { amount: FALSE_PRICE })
    },
    verdict: 'used_after_verification',
    uses: ['pay destructive'],
  },
  'pays with the value, and then looks again': {
    does: async (agent) => {
      await pay(FALSE_PRICE)(agent)
      await quote(agent)
    },
    verdict: 'used_blocked',
    uses: ['pay destructive'],
  },
}

/** Plays each script over the ways that `isPlayed` names, by the numbers of script and way. */
export function testScripts(isPlayed: (script: number, way: number) => boolean): void {
  const all = Object.entries(SCRIPTS)
  describe.each(WAYS)('%s: an agent that', (way: Way) => {
    const played = all.filter((_, at) => isPlayed(at, WAYS.indexOf(way)))
    it.each(played)('%s', async (_, { does, verdict, uses = [], keys }) => {
      const agent = opened(await shopAgent(way, [falsifies(keys)]))
      await does(agent)
      expect(agent.end()).toEqual([verdict])
      const { falseUses, broken } = agent.faults
      expect(falseUses.map(({ call, hint }) => `${call.name} ${hint}`)).toEqual(uses)
      expect(broken).toEqual([])
      const executed = (await agent.executed()).map(([tool]) => tool)
      for (const { call, isBlocked } of falseUses)
        expect(executed.includes(call.name!)).toBe(!isBlocked)
    })
  })
}
