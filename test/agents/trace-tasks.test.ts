import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { AgentWatch } from '../../src/agents/agent-watch.ts'
import { CallWatch } from '../../src/telemetry/call-watch.ts'
import { oneFault } from '../faults/one-fault.ts'
import { closers } from '../support/closers.ts'
import { call, startSidecar } from '../support/wire.ts'
import { agentUpstream, ScriptedAgent } from '../truth/scripted-agent.ts'
import { stdioAgent } from '../truth/session-agents.ts'

const opened = closers()

/** A call: its tool, and the trace of `_meta`. */
interface Sent {
  readonly tool: string
  readonly meta?: string
}

interface Line {
  readonly watch: AgentWatch
  /** Sends calls of one session, or of one client without sessions, one after another. */
  readonly send: (calls: readonly Sent[]) => Promise<unknown>
}

const TASKS = {
  by: ['header', 'meta', 'trace', 'session', 'client'],
  header: 'x-task-id',
  meta: undefined,
  window: 3_600_000,
  maxRetries: 3,
} as const
const rules = ['a', 'b'].map((tool, index) => ({
  ...oneFault('abort: { rpcError: { code: -32000, message: no } }', `match: { tool: ${tool} }`),
  name: `r${index}`,
  first: 1,
}))

const paramsOf = ({ tool, meta }: Sent) => ({
  name: tool,
  arguments: {},
  ...(meta !== undefined && { _meta: { traceparent: meta } }),
})

async function overHttp(transport: 'json' | 'sse' | 'http+sse' | '2026-07-28'): Promise<Line> {
  const { listener } = agentUpstream()
  const squall = opened(await startSidecar({ upstream: listener, rules, tasks: TASKS }))
  const agent = opened(new ScriptedAgent(squall.url, transport, 'session', 'both'))
  await agent.open()
  const send = async (calls: readonly Sent[]): Promise<void> => {
    for (const each of calls) await agent.ask('tools/call', paramsOf(each))
  }
  return { watch: squall.agents!, send }
}

/** Sends the calls of each step as one batch. */
async function inBatches(): Promise<Line> {
  const upstream: RequestListener = (req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const messages = JSON.parse(body) as readonly { readonly id: number }[]
      const result = { content: [] }
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(messages.map(({ id }) => ({ jsonrpc: '2.0', id, result }))))
    })
  }
  const squall = opened(await startSidecar({ upstream, rules, tasks: TASKS, session: 's' }))
  let id = 0
  const send = (calls: readonly Sent[]): Promise<unknown> =>
    call(
      squall,
      calls.map((each) => {
        return { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: paramsOf(each) }
      }),
    )
  return { watch: squall.agents!, send }
}

async function overStdio(): Promise<Line> {
  const { agent, agents, close } = await stdioAgent('one session', rules, TASKS)
  opened({ close })
  const send = async (calls: readonly Sent[]): Promise<void> => {
    for (const each of calls) await agent.ask('tools/call', paramsOf(each))
  }
  return { watch: agents, send }
}

const LINES: Readonly<Record<string, () => Promise<Line>>> = {
  'HTTP, JSON': () => overHttp('json'),
  'HTTP, event streams': () => overHttp('sse'),
  'HTTP+SSE': () => overHttp('http+sse'),
  '2026-07-28': () => overHttp('2026-07-28'),
  batches: inBatches,
  stdio: overStdio,
}

const newTrace = (): string => `00-${randomUUID().replaceAll('-', '')}-00f067aa0ba902b7-01`

/** Two agents in turn: both fail, then one retries, and the other takes another tool. */
async function play({ watch, send }: Line, traceOf: (agent: number) => Omit<Sent, 'tool'>) {
  const seen: string[] = []
  watch.read(({ event, verdict, task }) =>
    seen.push(`${event.facts.action.name}: ${verdict}, ${task.kind}`),
  )
  for (const tools of [
    ['a', 'b'],
    ['a', 'c'],
  ]) {
    await send(tools.map((tool, agent) => ({ tool, ...traceOf(agent) })))
  }
  for (let i = 0; i < 3; i++) watch.sweep(1e10)
  return seen.sort()
}

describe.each(Object.entries(LINES))('two agents behind one client: %s', (_, start) => {
  it('are two tasks where each has one trace', async () => {
    const traces = [newTrace(), newTrace()]
    const seen = await play(await start(), (agent) => ({ meta: traces[agent]! }))
    expect(seen).toEqual(['a: retried, trace', 'b: switched_tool, trace'])
  })

  it('get the same verdicts with a trace for each call as without traces', async () => {
    const without = await play(await start(), () => ({}))
    expect(await play(await start(), () => ({ meta: newTrace() }))).toEqual(without)
    expect(without.join()).not.toContain('trace')
  })
})

it('single calls name their task once it is clear, and no other before', async () => {
  const { listener } = agentUpstream()
  const watch = new CallWatch()
  const squall = opened(await startSidecar({ upstream: listener, rules, tasks: TASKS, watch }))
  const agent = opened(new ScriptedAgent(squall.url, 'json', 'session', 'both'))
  await agent.open()
  const lines: (string | undefined)[] = []
  watch.read(({ task }) => lines.push(task))
  const shared = newTrace()
  for (const meta of [newTrace(), shared, shared]) {
    await agent.ask('tools/call', paramsOf({ tool: 'c', meta }))
  }
  await expect.poll(() => lines).toEqual([undefined, undefined, shared.slice(3, 35)])
})
