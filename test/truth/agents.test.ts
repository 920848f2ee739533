import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rounds, someOf } from '../support/rounds.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'
import { agentUpstream, type Key, ScriptedAgent, type Transport } from './scripted-agent.ts'

const RULES = `rules:
  - name: before
    match: { tool: "failed *", headers: { x-hit: "yes" } }
    faults: [abort: { status: 503 }]
  - name: after
    match: { tool: "lost *", headers: { x-hit: "yes" } }
    faults: [abort: { rpcError: { code: 1, message: no }, at: response }]
  - name: busy
    match: { tool: "busy *", headers: { x-hit: "yes" } }
    faults: [rateLimit: { retryAfter: 1s }]
  - name: strict
    match: { tool: "strict *", headers: { x-hit: "yes" } }
    faults: [rateLimit: { retryAfter: 1h }]
  - name: slow
    match: { tool: "slow *", headers: { x-hit: "yes" } }
    faults: [delay: { fixed: 1ms }]
`

interface Script {
  /** The fault by which the first call ends, as the beginning of its tool's name. */
  readonly fault: 'failed' | 'lost' | 'busy' | 'strict' | 'slow'
  readonly does: (agent: ScriptedAgent, tool: string, other: string) => Promise<unknown>
  /** The verdicts of a task, in any order. */
  readonly verdicts: readonly string[]
}

const ARGS = { q: 1, list: [1, 2] }
const again = (agent: ScriptedAgent, tool: string) => agent.call(tool, { list: [1, 2], q: 1 })

const SCRIPTS: Readonly<Record<string, Script>> = {
  retried: { fault: 'failed', does: again, verdicts: ['retried'] },
  'retried after a pause': {
    fault: 'failed',
    does: async (agent, tool) => {
      await agent.ask('ping', {})
      await again(agent, tool)
    },
    verdicts: ['retried'],
  },
  changed: {
    fault: 'failed',
    does: (agent, tool) => agent.call(tool, { q: 2 }),
    verdicts: ['retried_changed'],
  },
  waited: {
    fault: 'busy',
    // The fault asks for one second.
    does: async (agent, tool) => {
      await sleep(1001)
      await again(agent, tool)
    },
    verdicts: ['honoured_retry_after'],
  },
  hasty: { fault: 'strict', does: again, verdicts: ['ignored_retry_after'] },
  switched: {
    fault: 'failed',
    does: (agent, _, other) => agent.call(other, ARGS),
    verdicts: ['switched_tool'],
  },
  relisted: {
    fault: 'failed',
    does: async (agent, tool) => {
      await agent.ask('tools/list', {})
      await again(agent, tool)
    },
    verdicts: ['relisted'],
  },
  reinitialized: {
    fault: 'failed',
    does: (agent) => agent.begin(),
    verdicts: ['reinitialized'],
  },
  'retried in a new session': {
    fault: 'failed',
    does: async (agent, tool) => {
      await agent.begin()
      await again(agent, tool)
    },
    verdicts: ['retried'],
  },
  'gave up': { fault: 'failed', does: () => Promise.resolve(), verdicts: ['gave_up'] },
  runaway: {
    fault: 'failed',
    does: async (agent, tool) => {
      for (let i = 0; i < 4; i++) await agent.call(tool, ARGS, true)
    },
    verdicts: ['runaway', 'retried', 'retried', 'retried', 'gave_up'],
  },
  duplicate: { fault: 'lost', does: again, verdicts: ['duplicate_execution'] },
  continued: {
    fault: 'slow',
    does: (agent, _, other) => agent.call(other, ARGS),
    verdicts: ['continued'],
  },
}

const BY_TRANSPORT: readonly (readonly [Transport, readonly Key[]])[] = [
  ['json', ['header', 'trace', 'meta', 'session', 'client']],
  ['sse', ['header', 'trace', 'meta', 'session', 'client']],
  ['http+sse', ['header', 'trace', 'meta', 'session']],
  ['2026-07-28', ['header', 'trace', 'meta', 'client']],
]
// One in two has each transport and each key.
const PAIRS = someOf(
  BY_TRANSPORT.flatMap(([transport, keys]) => keys.map((key) => ({ transport, key }))),
  2,
)
/** Tasks of each script. */
const TASKS = rounds(1, Number(process.env['SQUALL_AGENT_TASKS'] ?? 200))
const AT_ONCE = 200
/** A task takes a few milliseconds of CPU time, and on a busy machine many times that. */
const TASK_LIMIT_MS = 100

const upstream = agentUpstream()
/** The verdicts by tool; each pair has its own tools. */
const seen = new Map<string, string[]>()
let ruled: RuledSquall

beforeAll(
  async () => {
    const flags = ['--tasks', '--task-meta', 'example.com/task', '--task-window', '1h']
    ruled = await startSquall({ rules: RULES, upstream: upstream.listener, flags })
    const { watch } = ruled.squall.running.agents!
    watch.read(({ event, verdict }) => {
      const tool = event.facts.action.name ?? ''
      seen.set(tool, [...(seen.get(tool) ?? []), verdict])
    })
    const jobs = PAIRS.flatMap((pair) => [
      ...Object.entries(SCRIPTS).flatMap(([name, script]) =>
        Array.from({ length: TASKS }, (_, index) => () => runScript(pair, name, script, index)),
      ),
      () => overlap(pair),
    ])
    const work = async (): Promise<void> => {
      for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) await job()
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    // The time of all verdicts is over.
    watch.sweep(performance.now() + 1e9)
  },
  60_000 + TASK_LIMIT_MS * PAIRS.length * Object.keys(SCRIPTS).length * TASKS,
)
afterAll(() => ruled.close())

type Pair = (typeof PAIRS)[number]

async function withAgent(
  { transport, key }: Pair,
  task: string,
  does: (agent: ScriptedAgent) => Promise<unknown>,
): Promise<void> {
  const agent = new ScriptedAgent(`http://127.0.0.1:${ruled.squall.port}`, transport, key, task)
  try {
    await agent.open()
    await does(agent)
  } finally {
    await agent.close()
  }
}

function toolOf({ transport, key }: Pair, fault: string, name: string): string {
  return `${fault} ${name} ${transport} ${key}`
}

async function runScript(pair: Pair, name: string, script: Script, index: number): Promise<void> {
  const tool = toolOf(pair, script.fault, name)
  const task = `${tool} ${index}`
  await withAgent(pair, task, async (agent) => {
    expect(await agent.call(tool, ARGS, true)).toBe(script.fault === 'slow')
    await script.does(agent, tool, `other ${name}`)
  })
  // The upstream counts for itself what the verdict is about.
  if (name === 'duplicate') expect(upstream.executed(task)).toBe(2)
}

/** Calls a tool that fails, and again, while another call is open. */
async function overlap(pair: Pair): Promise<void> {
  const tool = toolOf(pair, 'failed', 'overlap')
  await withAgent(pair, tool, async (agent) => {
    const holds = upstream.holds(tool)
    const held = agent.call('held', { hold: true })
    await holds
    await agent.call(tool, ARGS, true)
    await again(agent, tool)
    upstream.release(tool)
    await held
  })
}

describe.each(PAIRS)('$transport, tasks by $key', (pair) => {
  it.each(Object.entries(SCRIPTS))('every verdict is right: %s', (name, { fault, verdicts }) => {
    const expected = Array.from({ length: TASKS }, () => verdicts)
    expect(seen.get(toolOf(pair, fault, name))?.sort()).toEqual(expected.flat().sort())
  })

  it('calls that overlap are told apart by a key alone', () => {
    const isNamed = pair.key !== 'session' && pair.key !== 'client'
    expect(seen.get(toolOf(pair, 'failed', 'overlap'))).toEqual([isNamed ? 'retried' : 'ambiguous'])
  })
})

it('no verdict is about anything else, and each is counted once', async () => {
  const perTask = Object.values(SCRIPTS).reduce((sum, { verdicts }) => sum + verdicts.length, 0)
  const all = PAIRS.length * (perTask * TASKS + 1)
  expect([...seen.values()].flat()).toHaveLength(all)
  expect(await ruled.squall.metric('squall_after_fault_total')).toBe(all)
  const duplicates = { idempotent: 'not_declared' }
  expect(await ruled.squall.metric('squall_task_duplicate_executions_total', duplicates)).toBe(
    PAIRS.length * TASKS,
  )
})
