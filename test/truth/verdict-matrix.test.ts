import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentWatch } from '../../src/agents/agent-watch.ts'
import type { FaultUse } from '../../src/filters/index.ts'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { someOf } from '../support/rounds.ts'
import { startSidecar } from '../support/wire.ts'
import {
  failingServer,
  HttpAgent,
  type SessionAgent,
  SESSIONS,
  type Sessions,
  stdioAgent,
  TRACES,
  type Traces,
} from './session-agents.ts'

/** The failure of the first calls of a tool. */
interface Cause {
  readonly kind: 'error' | 'wait' | 'limit' | 'lost' | 'cut' | 'hidden' | 'slow'
  readonly times?: number
}

interface Behaviour {
  readonly name: string
  readonly fails: Cause
  readonly does: (agent: SessionAgent, tool: string) => Promise<unknown>
  /** The verdicts of the task, in any order. */
  readonly verdicts: readonly string[]
  /** Where the behaviour exists; everywhere by default. */
  readonly in?: (cell: Place) => boolean
}

const ARGS = { q: 1, list: [1, 2] }
const call = (agent: SessionAgent, name: string, args: object = ARGS): Promise<void> =>
  agent.ask('tools/call', { name, arguments: args })
const again = (agent: SessionAgent, name: string): Promise<void> =>
  call(agent, name, { list: [1, 2], q: 1 })
type Place = Omit<Cell, 'behaviour' | 'traces'>
const isHttp = ({ transport }: Place): boolean => transport !== 'stdio'

const BEHAVIOURS: readonly Behaviour[] = [
  { name: 'retries', fails: { kind: 'error' }, does: again, verdicts: ['retried'] },
  {
    name: 'changes the arguments',
    fails: { kind: 'error' },
    does: (agent, tool) => call(agent, tool, { q: 2 }),
    verdicts: ['retried_changed'],
  },
  {
    name: 'waits as asked',
    fails: { kind: 'wait' },
    does: async (agent, tool) => {
      await sleep(1001)
      await again(agent, tool)
    },
    verdicts: ['honoured_retry_after'],
  },
  {
    name: 'does not wait',
    fails: { kind: 'limit' },
    does: again,
    verdicts: ['ignored_retry_after'],
  },
  {
    name: 'takes another tool',
    fails: { kind: 'error' },
    does: (agent) => call(agent, 'other'),
    verdicts: ['switched_tool'],
  },
  {
    name: 'asks for the tools',
    fails: { kind: 'error' },
    does: async (agent, tool) => {
      await agent.ask('tools/list')
      await again(agent, tool)
    },
    verdicts: ['relisted'],
  },
  {
    name: 'begins a session alone',
    fails: { kind: 'error' },
    does: (agent) => agent.begin(),
    verdicts: ['reinitialized'],
  },
  {
    name: 'begins a session and retries',
    fails: { kind: 'error' },
    does: async (agent, tool) => {
      await agent.begin()
      await again(agent, tool)
    },
    verdicts: ['retried'],
  },
  {
    name: 'begins a session after a lost one',
    fails: { kind: 'lost' },
    does: async (agent, tool) => {
      await agent.begin()
      await again(agent, tool)
    },
    verdicts: ['reinitialized'],
    in: (cell) => isHttp(cell) && cell.sessions !== '2026-07-28',
  },
  {
    name: 'gives up',
    fails: { kind: 'error' },
    does: () => Promise.resolve(),
    verdicts: ['gave_up'],
  },
  {
    name: 'never ends',
    fails: { kind: 'error', times: 9 },
    does: async (agent, tool) => {
      for (let i = 0; i < 8; i++) await again(agent, tool)
    },
    verdicts: [
      ...Array.from({ length: 5 }, () => 'runaway'),
      ...Array.from({ length: 3 }, () => 'retried'),
      'gave_up',
    ],
  },
  {
    name: 'repeats what was executed',
    fails: { kind: 'hidden' },
    does: again,
    verdicts: ['duplicate_execution'],
    in: ({ cause }) => cause === 'injected',
  },
  {
    name: 'repeats what may have been executed',
    fails: { kind: 'cut' },
    does: again,
    verdicts: ['possible_duplicate'],
    in: ({ cause }) => cause === 'real',
  },
  {
    name: 'goes on',
    fails: { kind: 'slow' },
    does: (agent) => call(agent, 'other'),
    verdicts: ['continued'],
    in: ({ cause }) => cause === 'injected',
  },
]

function limited(retryAfter: number): FaultUse {
  const more = { retryAfterAs: 'seconds', by: 'session', as: 'rpc', message: 'busy' } as const
  return { fault: 'rateLimit', config: { retryAfter, ...more } }
}

const FAULTS: Readonly<Partial<Record<Cause['kind'], FaultUse>>> = {
  error: { fault: 'abort', config: { rpcError: { code: 1, message: 'no' }, at: 'request' } },
  wait: limited(1000),
  limit: limited(3_600_000),
  lost: { fault: 'session', config: { expire: true } },
  hidden: { fault: 'abort', config: { toolError: 'no', at: 'response' } },
  slow: { fault: 'delay', config: { fixed: 1, max: 1, at: 'request' } },
}

interface Cell {
  readonly behaviour: Behaviour
  readonly cause: 'injected' | 'real'
  readonly sessions: Sessions
  readonly transport: 'json' | 'sse' | 'stdio'
  readonly traces: Traces
}

const ALL: readonly Cell[] = (['json', 'sse', 'stdio'] as const).flatMap((transport) =>
  // A client that speaks stdio has a server for each session.
  SESSIONS.filter((each) => transport !== 'stdio' || each !== 'a session for each call').flatMap(
    (sessions) =>
      (['injected', 'real'] as const).flatMap((cause) =>
        BEHAVIOURS.filter((each) => each.in?.({ cause, sessions, transport }) ?? true).flatMap(
          (behaviour) =>
            TRACES.map((traces) => ({ behaviour, cause, sessions, transport, traces })),
        ),
      ),
  ),
)
const CELLS = someOf(ALL, 8)

/** The name of the tool of a cell says how its first calls fail for real. */
function toolOf({ behaviour: { name, fails }, cause, sessions, transport, traces }: Cell): string {
  const failure = cause === 'real' ? `${fails.kind} ${fails.times ?? 1}` : '- 0'
  return `${name}|${failure}|${sessions} ${transport} ${traces}`
}

function ruleOf(cell: Cell, index: number): RuleSpec {
  const { kind, times = 1 } = cell.behaviour.fails
  const match = { tool: toolOf(cell) }
  return { name: `r${index}`, match, first: times, faults: [FAULTS[kind]!] }
}

const TASKS = {
  by: ['header', 'meta', 'trace', 'session', 'client'],
  header: 'x-task-id',
  meta: undefined,
  window: 3_600_000,
  maxRetries: 3,
} as const
/** Milliseconds after which each verdict is due. */
const LATER = 1e10

/** The verdicts by tool. */
const seen = new Map<string, string[]>()
let executed: (tool: string) => number

function read(watch: AgentWatch): void {
  watch.read(({ event, verdict }) => {
    const tool = event.facts.action.name ?? ''
    seen.set(tool, [...(seen.get(tool) ?? []), verdict])
  })
}

async function play(agent: SessionAgent, cell: Cell): Promise<void> {
  const tool = toolOf(cell)
  const { fails, does } = cell.behaviour
  const isLeft = fails.kind === 'cut' && agent.leave !== undefined
  if (isLeft) await agent.leave?.('tools/call', { name: tool, arguments: ARGS })
  else await call(agent, tool)
  await does(agent, tool)
}

const rulesFor = (cells: readonly Cell[]): readonly RuleSpec[] =>
  cells.filter(({ cause }) => cause === 'injected').map(ruleOf)

async function overHttp(cells: readonly Cell[]) {
  const server = failingServer()
  executed = server.executed
  const rules = rulesFor(cells)
  const sidecar = await startSidecar({ upstream: server.listener, rules, tasks: TASKS })
  const watch = sidecar.agents!
  read(watch)
  await Promise.all(
    cells.map(async (cell) => {
      const { sessions, transport, traces } = cell
      const how = { streams: transport === 'sse', traces }
      const agent = new HttpAgent(sidecar.url, sessions, how, toolOf(cell))
      await agent.open()
      await play(agent, cell)
      await agent.close()
    }),
  )
  do watch.sweep(LATER)
  while (watch.waiting > 0)
  return sidecar
}

async function overStdio(all: readonly Cell[]): Promise<void> {
  const setups = (['one session', '2026-07-28'] as const).flatMap((sessions) =>
    TRACES.map((traces) => ({ sessions, traces })),
  )
  for (const { sessions, traces } of setups) {
    const cells = all.filter((cell) => cell.sessions === sessions && cell.traces === traces)
    const { agent, agents, retrace, close } = await stdioAgent(
      sessions,
      rulesFor(cells),
      TASKS,
      traces,
    )
    read(agents)
    for (const cell of cells) {
      await play(agent, cell)
      // All calls of the pipe are one task until it ends.
      agents.sweep(LATER)
      agents.sweep(LATER)
      retrace()
    }
    await close()
  }
}

let close: () => Promise<void>
beforeAll(async () => {
  const sidecar = await overHttp(CELLS.filter(isHttp))
  close = () => sidecar.close()
  await overStdio(CELLS.filter((cell) => !isHttp(cell)))
})
afterAll(() => close())

describe.each(['json', 'sse', 'stdio'] as const)('%s', (transport) => {
  const cells = CELLS.filter((cell) => cell.transport === transport)
  it.each(cells.map((cell) => ({ ...cell, name: cell.behaviour.name })))(
    'the agent $name after an error: $cause, $sessions, $traces',
    (cell) => {
      const tool = toolOf(cell)
      expect(seen.get(tool)?.sort()).toEqual([...cell.behaviour.verdicts].sort())
      // The server knows for itself what was executed twice.
      const isTwice = /duplicate/.test(cell.behaviour.verdicts.join())
      if (transport !== 'stdio' && isTwice) expect(executed(tool)).toBe(2)
    },
  )
})

it('no verdict is about anything else', () => {
  expect([...seen.keys()].sort()).toEqual(CELLS.map(toolOf).sort())
})
