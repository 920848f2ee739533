// part: agents
// Each snippet of docs/guides/resilient-clients.md is run: the same client without and with it, behind a Squall
// that judges both.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RuledSquall, startProgram, startSquall } from '../support/commands.ts'
import { ticketServer, type TicketServer } from './ticket-server.ts'
import { systemTool } from './tools.ts'

/** The fault that a cure is against, and the calls of a client without it. */
interface Topic {
  readonly fault: string
  readonly tool: 'search_docs' | 'create_ticket'
  /** The number of calls of an agent without the cure, one directly after another. */
  readonly times: number
}

const TOPICS = {
  'back-off': {
    fault: 'first: 2, faults: [abort: { status: 503 }]',
    tool: 'search_docs',
    times: 3,
  },
  'retry-after': {
    fault: 'first: 1, faults: [rateLimit: { retryAfter: 10s }]',
    tool: 'search_docs',
    times: 2,
  },
  'idempotency-key': {
    fault: 'first: 1, faults: [abort: { status: 504, at: response }]',
    tool: 'create_ticket',
    times: 2,
  },
  'time-limit': { fault: 'faults: [hang]', tool: 'search_docs', times: 1 },
  session: { fault: 'first: 1, faults: [session]', tool: 'search_docs', times: 2 },
  connection: { fault: 'first: 1, faults: [reset]', tool: 'search_docs', times: 2 },
} as const satisfies Readonly<Record<string, Topic>>

type Name = keyof typeof TOPICS

const CURES = fileURLToPath(new URL('./cures.py', import.meta.url))
const TYPESCRIPT = fileURLToPath(new URL('./cures.mjs', import.meta.url))
/** Nothing but the servers of the test is reached. */
const ENV = {
  OPENAI_API_KEY: 'none',
  LANGSMITH_TRACING: 'false',
  PYTHONDONTWRITEBYTECODE: '1',
}

interface Client {
  readonly args: readonly string[]
  /** The Python environment; without it, Node. */
  readonly environment?: string
  /** The model makes the second call of a write, and the cure gives it the same key. */
  readonly modelRepeats?: true
  /** A lost connection ends it for good. */
  readonly diesOfReset?: true
}

const CLIENTS: Readonly<Record<string, Client>> = {
  'TypeScript SDK v1': { args: [TYPESCRIPT, 'v1'] },
  'TypeScript SDK v2': { args: [TYPESCRIPT, 'v2'] },
  'Python SDK': { args: [CURES, 'python'], environment: 'cures-venv', diesOfReset: true },
  LangChain: { args: [CURES, 'langchain'], environment: 'agents-venv', modelRepeats: true },
  'OpenAI Agents': {
    args: [CURES, 'openai'],
    environment: 'cures-venv',
    modelRepeats: true,
    diesOfReset: true,
  },
  'Pydantic AI': {
    args: [CURES, 'pydantic'],
    environment: 'cures-venv',
    modelRepeats: true,
    diesOfReset: true,
  },
}

interface Verdict {
  readonly verdict: string
  readonly idempotent?: boolean
}

/** The part of `/api/tasks` that is looked at. */
interface Tasks {
  readonly ended: Readonly<Record<'ok' | 'recovered' | 'failed', number>>
  readonly tasks: readonly { readonly verdicts: readonly Verdict[] }[]
}

/** The result of one play of a client. */
interface Play {
  readonly ruled: RuledSquall
  readonly server: TicketServer
  readonly tasks: Tasks
  readonly verdicts: readonly string[]
  /** The client gave up or got its result, and did not wait until it was stopped. */
  readonly ended: boolean
}

interface Stage {
  readonly name: Name
  readonly cured: boolean
  readonly ruled: RuledSquall
  readonly server: TicketServer
}

async function stage(name: Name, cured: boolean): Promise<Stage> {
  const server = ticketServer({ keys: cured })
  const { fault, tool } = TOPICS[name]
  const rules = `rules:\n  - { name: ${name}, match: { tool: ${tool} }, ${fault} }\n`
  const ruled = await startSquall({ rules, upstream: server.listener })
  return { name, cured, ruled, server }
}

/** Returns true for an agent that makes the second call with the cure, too. */
function callsAgain({ modelRepeats }: Client, name: Name): boolean {
  return name === 'connection' || (name === 'idempotency-key' && modelRepeats === true)
}

/** Plays all topics with one process, which takes seconds to start. */
async function playAll(client: Client): Promise<ReadonlyMap<string, Play>> {
  const all = Object.keys(TOPICS) as Name[]
  const names = all.filter((name) => name !== 'connection' || client.diesOfReset)
  const stages = await Promise.all(names.flatMap((name) => [stage(name, false), stage(name, true)]))
  const asked = stages.map(({ name, cured, ruled }) => {
    const { tool, times } = TOPICS[name]
    return {
      url: `http://127.0.0.1:${ruled.squall.port}/mcp`,
      topic: name,
      cured,
      tool,
      args: tool === 'search_docs' ? { query: 'refunds' } : { title: 'The door is stuck' },
      times: cured && !callsAgain(client, name) ? 1 : times,
    }
  })
  const { args, environment } = client
  const program =
    environment === undefined
      ? process.execPath
      : systemTool(`${environment}/bin/python`, 'OpenAI Agents, Pydantic AI or LangChain')
  const how = { program, input: JSON.stringify(asked) }
  const options = environment === undefined ? [] : ['-W', 'ignore']
  const { code, stdout, stderr } = await startProgram([...options, ...args], ENV, how).finished()
  expect(code, stderr.slice(-4096)).toBe(0)
  const ended = JSON.parse(stdout) as readonly boolean[]
  const plays = stages.map(async ({ name, cured, ruled, server }, index) => {
    const { running, admin } = ruled.squall
    running.agents!.watch.sweep(performance.now() + 1e9)
    const tasks = (await (await fetch(`${admin}/api/tasks`)).json()) as Tasks
    const verdicts = tasks.tasks.flatMap((task) => task.verdicts.map(({ verdict }) => verdict))
    const play: Play = { ruled, server, tasks, verdicts, ended: ended[index]! }
    return [`${name} ${cured ? 'with' : 'without'}`, play] as const
  })
  return new Map(await Promise.all(plays))
}

/** The pauses before the calls after the first, in milliseconds. */
function pauses({ ruled, server }: Play): readonly number[] {
  const injected = ruled.squall.logs.filter(({ msg }) => msg === 'fault injected')
  const times = injected.map(({ time }) => Date.parse(String(time))).concat(server.searches)
  return times.slice(1).map((time, index) => time - times[index]!)
}

describe.each(Object.entries(CLIENTS))('%s', (_name, client) => {
  let plays: ReadonlyMap<string, Play>
  const of = (name: Name): readonly [without: Play, cured: Play] => [
    plays.get(`${name} without`)!,
    plays.get(`${name} with`)!,
  ]

  beforeAll(async () => (plays = await playAll(client)))
  afterAll(() => Promise.all([...plays.values()].map(({ ruled }) => ruled.close())))

  it('backs off', () => {
    const [without, cured] = of('back-off')
    for (const { verdicts, server } of [without, cured]) {
      expect(verdicts).toEqual(['retried', 'retried'])
      expect(server.searches).toHaveLength(1)
    }
    // Without the cure, the pauses depend on the machine.
    const [first, second] = pauses(cured)
    // LangChain's jitter takes up to a quarter off 0.5 s and 1 s.
    expect(first).toBeGreaterThan(370)
    expect(second).toBeGreaterThan(740)
  })

  it('waits as long as Retry-After says', () => {
    const [without, cured] = of('retry-after')
    expect(without.verdicts).toEqual(['ignored_retry_after'])
    expect(cured.verdicts).toEqual(['honoured_retry_after'])
    expect(cured.server.searches).toHaveLength(1)
  })

  it('makes one ticket with an idempotency key', () => {
    const [without, cured] = of('idempotency-key')
    expect(without.server.tickets).toHaveLength(2)
    expect(cured.server.tickets).toHaveLength(1)
    // Squall sees that the call was executed twice, and that the tool declares this as safe.
    const last = ({ tasks }: Play): unknown =>
      tasks.tasks.flatMap(({ verdicts }) => verdicts).at(-1)
    expect(last(without)).toMatchObject({ verdict: 'duplicate_execution', idempotent: false })
    expect(last(cured)).toMatchObject({ verdict: 'duplicate_execution', idempotent: true })
    expect(cured.tasks.ended).toMatchObject({ recovered: 1, failed: 0 })
  })

  it('gives up a call that hangs', () => {
    const [without, cured] = of('time-limit')
    expect(without.ended).toBe(false)
    expect(cured.ended).toBe(true)
    expect(cured.verdicts).toEqual(['gave_up'])
  })

  it('begins a new session', () => {
    const [without, cured] = of('session')
    expect(without.verdicts).toEqual(['retried', 'gave_up'])
    expect(without.tasks.ended.failed).toBe(1)
    expect(cured.verdicts).toEqual(['reinitialized'])
    expect(cured.tasks.ended).toMatchObject({ recovered: 1, failed: 0 })
    expect(cured.server.searches).toHaveLength(1)
  })
  it.runIf(client.diesOfReset)('survives a lost connection', () => {
    const [without, cured] = of('connection')
    expect(without.server.searches).toHaveLength(0)
    expect(without.tasks.ended.failed).toBe(1)
    expect(cured.verdicts).toEqual(['retried'])
    expect(cured.server.searches).toHaveLength(1)
    expect(cured.tasks.ended).toMatchObject({ recovered: 1, failed: 0 })
  })
})
