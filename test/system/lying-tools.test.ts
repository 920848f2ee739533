// part: agents
// Lets agents of real frameworks pay what a lying tool has quoted, or look again first. One sidecar sees
// twenty of them at the same time, and knows which is which.
import { fileURLToPath } from 'node:url'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { FalsifiedVerdict } from '../../src/agents/falsified-verdicts.ts'
import { type RuledSquall, startProgram, startSquall } from '../support/commands.ts'
import { sessionServer } from './ticket-server.ts'
import { systemTool } from './tools.ts'

const RUNS = 20
const SCRIPT = fileURLToPath(new URL('./agent_frameworks.py', import.meta.url))
/** Nothing but the servers of the test is reached. */
const ENV = { OPENAI_API_KEY: 'none', LANGSMITH_TRACING: 'false', PYTHONDONTWRITEBYTECODE: '1' }

const FRAMEWORKS = {
  LangChain: ['langchain', 'agents-venv'],
  'OpenAI Agents': ['openai', 'cures-venv'],
  'Pydantic AI': ['pydantic', 'cures-venv'],
} as const

type Step = readonly [tool: string, args: Readonly<Record<string, unknown>>]

/** Describes how an agent goes on after a quote; `$1` is the price in the first result that it got. */
interface Habit {
  readonly steps: (id: string) => readonly Step[]
  readonly verdict: FalsifiedVerdict
  /** Names the sum that is paid in the end: the true price, another sum, or nothing. */
  readonly pays?: 'price' | number
}

const quote = (id: string): Step => ['get_quote', { id }]
const pay = (id: string, amount: string | number): Step => ['pay', { id, amount }]

const HABITS: Readonly<Record<string, Habit>> = {
  'looks again': {
    steps: (id) => [quote(id), quote(id), pay(id, '$2')],
    verdict: 'verified',
    pays: 'price',
  },
  'pays at once': { steps: (id) => [quote(id), pay(id, '$1')], verdict: 'used_blocked' },
  'compares with another tool': {
    steps: (id) => [quote(id), ['get_price', { id }], pay(id, '$2')],
    verdict: 'verified',
    pays: 'price',
  },
  'writes it down': {
    steps: (id) => [quote(id), ['note', { text: `We owe $1 for ${id}.` }]],
    verdict: 'used',
  },
  'looks again and pays the first price': {
    steps: (id) => [quote(id), quote(id), pay(id, '$1')],
    verdict: 'used_after_verification',
  },
  'pays another sum': {
    steps: (id) => [quote(id), pay(id, 120.5)],
    verdict: 'not_seen',
    pays: 120.5,
  },
}

/** The quotes of the agents, each with a habit. */
const ASKED = Array.from({ length: RUNS }, (_, index) => {
  const habits = Object.entries(HABITS)
  const [name, habit] = habits[index % habits.length]!
  return { id: `Q-${index}`, price: 3987.84 + 311.07 * index, name, habit }
})
const priceOf = (id: string): number =>
  Number(ASKED.find((asked) => asked.id === id)!.price.toFixed(2))

const RULES = JSON.stringify({
  rules: ASKED.map(({ id }) => ({
    name: id,
    match: { tool: 'get_quote', args: { '/id': id } },
    faults: [{ falsify: { number: { by: '5%' }, at: '/price' } }],
  })),
})

/** A server with true prices, which notes what is paid. */
function shop(paid: Map<string, number>): RequestListener {
  const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  const inputSchema = { id: z.string() }
  const readOnly = { readOnlyHint: true }
  return sessionServer(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    const outputSchema = { id: z.string(), price: z.number() }
    const quoted = { inputSchema, outputSchema, annotations: readOnly }
    server.registerTool('get_quote', quoted, ({ id }) => {
      const result = { id, price: priceOf(id) }
      return { ...said(JSON.stringify(result)), structuredContent: result }
    })
    server.registerTool('get_price', { inputSchema, annotations: readOnly }, ({ id }) =>
      said(`The price of ${id} is ${priceOf(id).toFixed(2)} EUR today.`),
    )
    const note = { inputSchema: { text: z.string() }, annotations: { destructiveHint: false } }
    server.registerTool('note', note, () => said('noted'))
    const payment = { inputSchema: { id: z.string(), amount: z.number() } }
    const destructive = { ...payment, annotations: { destructiveHint: true } }
    server.registerTool('pay', destructive, ({ id, amount }) => {
      paid.set(id, amount)
      return said('paid')
    })
    return server
  })
}

describe.each(Object.entries(FRAMEWORKS))('agents of %s', (_, [framework, environment]) => {
  const paid = new Map<string, number>()
  let ruled: RuledSquall

  beforeAll(async () => {
    ruled = await startSquall({ rules: RULES, upstream: shop(paid) })
    const url = `http://127.0.0.1:${ruled.squall.port}/mcp`
    const asked = ASKED.map(({ id, habit }) => {
      return { url, steps: habit.steps(id), headers: { 'x-task-id': id } }
    })
    const program = systemTool(`${environment}/bin/python`, framework)
    const how = { program, input: JSON.stringify(asked) }
    const args = ['-W', 'ignore', SCRIPT, framework]
    const { stdout, stderr } = await startProgram(args, ENV, how).finished()
    expect(stdout, stderr.slice(-4096)).toContain('all done')
    ruled.squall.running.agents!.watch.sweep(performance.now() + 1e9)
    await ruled.squall.reaches('squall_falsified_total', {}, RUNS)
  })
  afterAll(() => ruled.close())

  it(`are told apart, ${RUNS} of ${RUNS}`, async () => {
    const verdicts = Object.values(HABITS).map(({ verdict }) => verdict)
    await Promise.all(
      ASKED.map(async ({ id, name, habit }) => {
        const counts = verdicts.map(async (verdict) => {
          const labels = { rule: id, tool: 'get_quote', verdict }
          return [verdict, await ruled.squall.metric('squall_falsified_total', labels)] as const
        })
        const met = (await Promise.all(counts)).filter(([, count]) => count > 0)
        expect(Object.fromEntries(met), `${id} ${name}`).toEqual({ [habit.verdict]: 1 })
      }),
    )
  })

  it('are summed up by the admin API', async () => {
    const tasks = (await (await fetch(`${ruled.squall.admin}/api/tasks`)).json()) as {
      readonly falsified: readonly { readonly verdict: string; readonly count: number }[]
      readonly falseUses: readonly { readonly tool: string; readonly count: number }[]
      readonly tasks: readonly { readonly by: string }[]
    }
    expect(tasks.tasks.map(({ by }) => by)).toEqual(ASKED.map(() => 'header'))
    const counted = tasks.falsified.flatMap(({ verdict, count }) =>
      Array.from({ length: count }, () => verdict),
    )
    expect(counted.sort()).toEqual(ASKED.map(({ habit }) => habit.verdict).sort())
    const used = ASKED.filter(({ habit }) => habit.verdict.startsWith('used'))
    expect(tasks.falseUses.reduce((sum, { count }) => sum + count, 0)).toBe(used.length)
  })

  it('never pay a false price', () => {
    const right = ASKED.flatMap(({ id, habit }) =>
      habit.pays === undefined ? [] : [[id, habit.pays === 'price' ? priceOf(id) : habit.pays]],
    )
    expect(Object.fromEntries(paid)).toEqual(Object.fromEntries(right))
  })
})
