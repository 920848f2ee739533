// part: slow
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Agents } from '../../src/admin/contract/api.ts'
import { showAgents } from '../../src/admin/show-agents.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { closeStack } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { agentUpstream, ScriptedAgent } from '../truth/scripted-agent.ts'
import { stdioAgent } from '../truth/session-agents.ts'

// Agents with one planted fault each; the first sentence about each names it.

// Longer than any step of a script takes on a busy machine.
const WINDOW_MS = 3000
const META = 'example.com/task'
/** The first word of a tool is its fault. */
const RULES = `rules:
  - { name: failed, match: { tool: "failed *" }, faults: [abort: { rpcError: { code: -32603, message: busy } }] }
  - { name: lost, match: { tool: "lost *" }, faults: [abort: { rpcError: { code: -32603, message: lost }, at: response }] }
  - { name: busy, match: { tool: "busy *" }, faults: [rateLimit: { retryAfter: 2s, as: rpc }] }
  - { name: hung, match: { tool: "hung *" }, faults: [hang: { for: 3300ms }] }
  - { name: slow, match: { tool: "slow *" }, faults: [delay: { fixed: 600ms }] }
  - { name: changed, match: { tool: "changed *" }, faults: [inflate: { to: 1KiB }] }
`

/** Makes requests in one task. */
interface Agent {
  ask(method: string, params: object): Promise<unknown>
  initialize(): Promise<unknown>
}

interface Planted {
  readonly tool: string
  /** The number of tasks in which it behaves so; 3 by default. */
  readonly tasks?: number
  readonly does: (agent: Agent, tool: string) => Promise<unknown>
  readonly kind: string
  readonly sentence: RegExp
}

const call = (agent: Agent, name: string, q = 1): Promise<unknown> =>
  agent.ask('tools/call', { name, arguments: { q } })
const repeat = async (times: number, does: () => Promise<unknown>): Promise<void> => {
  for (let i = 0; i < times; i++) await does()
}

const PLANTED: Readonly<Record<string, Planted>> = {
  'does not back off': {
    tool: 'failed hasty',
    does: (agent, tool) => repeat(4, () => call(agent, tool)),
    kind: 'no_back_off',
    sentence:
      /^(All \d|\d of 9) retries of failed hasty were sent within 0\.2 s, without back-off\.$/,
  },
  'ignores Retry-After': {
    tool: 'busy deaf',
    does: (agent, tool) => repeat(2, () => call(agent, tool)),
    kind: 'ignored_retry_after',
    sentence:
      /^Retry-After of busy deaf was ignored in 3 of 3 cases: the first retry came after 0(\.\d)? s instead of 2 s\.$/,
  },
  'doubles a write': {
    tool: 'lost write',
    tasks: 1,
    does: (agent, tool) => repeat(2, () => call(agent, tool)),
    kind: 'double_write',
    sentence:
      /^lost write was called again once after its response was lost, so the server executed 1 call twice\.$/,
  },
  'gives up at once': {
    tool: 'failed timid',
    does: call,
    kind: 'gave_up',
    sentence: /^The agent gave up at once after 3 of 3 retryable errors of failed timid\.$/,
  },
  loops: {
    tool: 'failed loop',
    tasks: 1,
    does: (agent, tool) => repeat(12, () => call(agent, tool)),
    kind: 'runaway',
    sentence:
      /^failed loop was retried without end: \d of 12 errors were followed by more than 3 retries/,
  },
  'switches the tool': {
    tool: 'failed switch',
    does: async (agent, tool) => {
      await call(agent, tool)
      await call(agent, 'other')
    },
    kind: 'switched_tool',
    sentence: /^The agent switched to another tool after 3 of 3 retryable errors of failed switch/,
  },
  'changes the arguments': {
    tool: 'failed change',
    does: async (agent, tool) => {
      await call(agent, tool)
      await call(agent, tool, 2)
    },
    kind: 'changed_arguments',
    sentence: /^failed change was called again with other arguments after 3 of 3 retryable errors/,
  },
  'uses a changed value': {
    tool: 'changed value',
    does: call,
    kind: 'used_changed_result',
    sentence:
      /^The agent continued with 3 of 3 results of changed value that a fault had changed\.$/,
  },
  'calls in a parallel storm': {
    tool: 'slow storm',
    tasks: 1,
    does: (agent, tool) => Promise.all(Array.from({ length: 14 }, (_, i) => call(agent, tool, i))),
    kind: 'parallel_storm',
    sentence:
      /^[3-5] calls of slow storm started while 9 or more other calls .*, up to 1[2-4] at once\.$/,
  },
  'has no time limit': {
    tool: 'hung wait',
    does: call,
    kind: 'no_time_limit',
    sentence:
      /^In 3 of 3 cases in which hung wait hung, the client waited up to \d(\.\d)? s without a timeout\.$/,
  },
  'begins sessions for ever': {
    tool: 'initialize',
    tasks: 1,
    does: (agent) =>
      repeat(6, async () => {
        await call(agent, 'failed session')
        await agent.initialize()
        await agent.ask('tools/list', {})
      }),
    kind: 'session_loop',
    sentence: /^The agent started a new session 6 times after errors .*, up to 6 in a row\.$/,
  },
}

const TRANSPORTS = ['json', 'http+sse', 'stdio'] as const

const { open, closeAll } = closeStack()
const found = new Map<string, Agents>()

async function play(agentOf: (task: string) => Promise<Agent>): Promise<void> {
  const tasks = Object.entries(PLANTED).flatMap(([name, planted]) =>
    Array.from({ length: planted.tasks ?? 3 }, (_, i) => ({ ...planted, task: `${name} ${i}` })),
  )
  const run = async ({ task, tool, does }: (typeof tasks)[number]): Promise<void> => {
    const agent = await agentOf(task)
    await does(agent, tool)
  }
  // Its pauses would be longer while the others are busy.
  const isTimed = ({ kind }: Planted): boolean => kind === 'no_back_off'
  for (const each of tasks.filter(isTimed)) await run(each)
  await Promise.all(tasks.filter((each) => !isTimed(each)).map(run))
}

async function overHttp(transport: 'json' | 'http+sse'): Promise<Agents> {
  const flags = ['--task-window', `${WINDOW_MS}ms`, '--task-by', 'meta', '--task-meta', META]
  const upstream = agentUpstream().listener
  const { squall } = open(await startSquall({ rules: RULES, upstream, flags }))
  await play(async (task) => {
    const agent = open(
      new ScriptedAgent(`http://127.0.0.1:${squall.port}`, transport, 'meta', task),
    )
    await agent.open()
    return {
      ask: (method, params) => agent.ask(method, params),
      initialize: () => agent.begin(),
    }
  })
  for (;;) {
    const agents = (await (await fetch(`${squall.admin}/api/agents?all=true`)).json()) as Agents
    if (agents.waiting === 0) return agents
    await sleep(50)
  }
}

async function overStdio(): Promise<Agents> {
  const parsed = parseRules(RULES)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const tasks = { by: ['meta'], header: '', meta: META, window: WINDOW_MS, maxRetries: 3 } as const
  const { agent, source } = open(await stdioAgent('one session', parsed.file.rules, tasks))
  await play((task) => {
    const ask = (method: string, params: object): Promise<void> =>
      agent.ask(method, { ...params, _meta: { [META]: task } })
    return Promise.resolve({ ask, initialize: () => ask('initialize', {}) })
  })
  while (source.watch.waiting > 0) {
    await sleep(50)
    source.watch.sweep(performance.now())
  }
  return showAgents(source, new URLSearchParams('all=true'))
}

beforeAll(async () => {
  const [json, sse, stdio] = await Promise.all([
    overHttp('json'),
    overHttp('http+sse'),
    overStdio(),
  ])
  found.set('json', json).set('http+sse', sse).set('stdio', stdio)
})
afterAll(closeAll)

describe.each(TRANSPORTS)('%s', (transport) => {
  it.each(Object.entries(PLANTED))(
    'the first sentence about an agent that %s names it',
    (...[, planted]) => {
      const { tool, kind, sentence } = planted
      const first = found.get(transport)!.findings.find((each) => each.tool === tool)
      expect(first).toMatchObject({ kind, source: 'agent', taskKind: 'meta' })
      expect(first!.sentence).toMatch(sentence)
      expect(first!.calls.at(-1)).toMatchObject({ tool })
    },
  )
})

it('no other tool has a finding', () => {
  const tools = new Set(Object.values(PLANTED).map(({ tool }) => tool))
  // The agent that begins sessions for ever retries in each, without a pause.
  tools.add('failed session')
  const others = [...found.values()].flatMap(({ findings }) =>
    findings.filter(({ tool }) => !tools.has(tool)),
  )
  expect(others.map(({ sentence }) => sentence)).toEqual([])
})
