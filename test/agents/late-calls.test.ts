import { describe, expect, it } from 'vitest'
import type { FaultEvent } from '../../src/agents/fault-event.ts'
import type { RequestCall } from '../../src/mcp/call.ts'
import type { Message } from '../../src/mcp/json-rpc.ts'
import { FAILED, LOST, watched } from './agents.ts'

const task = (id: string) => ({ headers: ['x-task-id', id] })
const results = ({ counts }: ReturnType<typeof watched>) => Object.fromEntries(counts.ended)

describe('a call that ends after its task', () => {
  it.each([
    ['evicted', 'tools/call'],
    ['swept', 'subscriptions/listen'],
  ])('leaves the other tasks as they are: %s', (how, method) => {
    const agent = watched({ maxTasks: how === 'evicted' ? 2 : 10 })
    const late = agent.begin({ method, ...task('a') })
    agent.call({ tool: 'x', ...task('a') })
    if (how === 'swept') agent.wait(1100)
    agent.call({ tool: 'x', ...task('b') })
    agent.call({ tool: 'x', ...task('c') })
    agent.end(late, FAILED)
    agent.call({ tool: 'x', ...task('b') })
    expect([...agent.watch.tasks()].map((each) => [each.task.key, each.isOpen])).toEqual([
      ['b', true],
      ['c', true],
      ['a', false],
    ])
    expect([agent.watch.size, agent.watch.waiting, agent.verdicts]).toEqual([2, 0, []])
    agent.wait(2000)
    expect(results(agent)).toEqual({ ok: 3 })
  })

  it('adds no session to it', () => {
    const agent = watched({ maxTasks: 1 })
    const late = agent.begin({ method: 'initialize', session: 'a' })
    agent.call({ tool: 'x', session: 'b' })
    agent.watch.sessionBegan(late!, 'c')
    agent.call({ tool: 'x', session: 'c' })
    expect([...agent.watch.tasks()].map(({ task: { key } }) => key)[0]).toBe('c')
  })
})

describe('a call that its client left', () => {
  it.each([
    ['gave_up', 0],
    ['retried', 1],
    ['ambiguous', 2],
  ])('is %s; %d other calls follow before it is settled', (verdict, calls) => {
    const agent = watched()
    const left = agent.begin({ tool: 'x', ...task('a') })
    const leftAt = agent.now()
    for (let i = 0; i < calls; i++) agent.call({ tool: 'x', ...task('a') })
    agent.end(left, { outcome: 'abandoned', leftAt })
    agent.wait(3000)
    expect(agent.verdicts).toEqual([verdict])
    // A task fails with its last call.
    expect(results(agent)).toEqual(calls > 0 ? { recovered: 1 } : { failed: 1 })
    expect(agent.counts.retries).toBe(calls === 1 ? 1 : 0)
  })

  it.each([
    ['retried', 20],
    ['gave_up', 200],
  ])('is %s when the next call was read %d ms before the client left', (verdict, before) => {
    const agent = watched()
    const left = agent.begin({ tool: 'x', ...task('a') })
    const next = agent.begin({ tool: 'x', ...task('a') })
    agent.wait(before)
    agent.end(left, { outcome: 'timeout' })
    agent.end(next)
    agent.wait(3000)
    expect(agent.verdicts).toEqual([verdict])
  })

  it.each([
    ['duplicate_execution', { outcome: 'timeout', executed: true }],
    ['retried', { outcome: 'timeout', executed: false }],
  ] as const)('is %s when the next call ended before the client left: %o', (verdict, end) => {
    const agent = watched()
    const left = agent.begin({ tool: 'x', ...task('a') })
    agent.call({ tool: 'x', ...task('a') })
    agent.end(left, end)
    expect(agent.verdicts).toEqual([verdict])
    expect(agent.counts.wasted).toBe(verdict === 'retried' ? 0 : 1)
  })

  it('leaves no task open when the handshake was repeated', () => {
    const agent = watched()
    const left = agent.begin({ method: 'initialize', ...task('a') })
    const again = agent.begin({ method: 'initialize', ...task('a') })
    agent.end(left, { outcome: 'timeout' })
    agent.end(again)
    agent.call({ tool: 'x', ...task('a') })
    expect([...agent.watch.tasks()].map((each) => each.task.sums.calls)).toEqual([1])
    agent.wait(3000)
    expect([agent.counts.open, agent.counts.retries]).toEqual([0, 0])
  })

  it('has the date at which the client left', () => {
    const agent = watched()
    const dates: number[] = []
    agent.watch.read(({ event }) => dates.push(event.facts.date))
    const left = agent.begin({ tool: 'x', ...task('a') })
    const leftAt = agent.now()
    agent.wait(900)
    agent.end(left, { outcome: 'abandoned', leftAt })
    agent.wait(3000)
    // The end is read a millisecond after the sweep.
    expect(dates).toEqual([leftAt + 1])
  })

  it('does not end its task early', () => {
    const agent = watched()
    const left = agent.begin({ tool: 'x', ...task('a') })
    const leftAt = agent.now()
    agent.wait(900)
    agent.call({ tool: 'x', ...task('a') })
    agent.end(left, { leftAt })
    agent.wait(900)
    expect(agent.watch.size).toBe(1)
  })
})

it('servers declare their tools apart', () => {
  const agent = watched()
  const list = (idempotentHint: boolean) =>
    ({
      kind: 'result',
      id: 1,
      result: { tools: [{ name: 'send', annotations: { idempotentHint } }] },
    }) as unknown as Message
  const lists = { method: 'tools/list' } as RequestCall
  agent.watch.serverOf('a').learn(lists, list(false))
  agent.watch.serverOf('b').learn(lists, list(true))
  for (const server of ['a', 'b']) {
    agent.call({ tool: 'send', server }, LOST)
    agent.call({ tool: 'send', server })
  }
  expect(agent.counts.duplicates.slice(0, 9).map(({ labels }) => labels.idempotent)).toEqual([
    'not_declared',
    'declared',
  ])
})

describe('calls that are no work of the agent', () => {
  it.each(['subscriptions/listen', 'tasks/get', 'ping'])(
    'overlap no other call while they are open: %s',
    (method) => {
      const agent = watched()
      const open = agent.begin({ method })
      agent.call({ tool: 'x' }, FAILED)
      agent.call({ tool: 'x' })
      expect(agent.verdicts).toEqual(['retried'])
      agent.end(open)
    },
  )

  it('neither hold a task open nor are tasks themselves', () => {
    const agent = watched()
    agent.begin({ method: 'subscriptions/listen' })
    agent.call({ tool: 'x' })
    agent.call({ method: 'initialize', session: 'b' })
    expect(agent.counts.open).toBe(1)
    agent.wait(1100)
    expect(results(agent)).toEqual({ ok: 1 })
    expect(agent.counts.open).toBe(0)
  })
})

describe('a cancelled call', () => {
  it('leaves its task as it was, and is no wasted retry', () => {
    const agent = watched()
    agent.call({ tool: 'x', ...task('a') })
    agent.call({ tool: 'y', ...task('a') }, { outcome: 'cancelled' })
    agent.call({ tool: 'x', ...task('b') }, FAILED)
    agent.call({ tool: 'x', ...task('b') }, { outcome: 'cancelled' })
    agent.wait(3000)
    expect(results(agent)).toEqual({ ok: 1, failed: 1 })
    expect(agent.counts.wasted).toBe(0)
  })
})

describe('each call is counted once', () => {
  const duplicates = ({ verdicts }: ReturnType<typeof watched>) =>
    verdicts.filter((verdict) => verdict === 'duplicate_execution')

  it('as wasted: a retry that failed again and was executed again', () => {
    const agent = watched()
    agent.call({ tool: 'x' }, LOST)
    agent.call({ tool: 'x' }, LOST)
    expect(duplicates(agent)).toHaveLength(1)
    expect(agent.counts.wasted).toBe(1)
  })

  it('as executed again: a retry after two calls at the same time', () => {
    const agent = watched()
    const calls = [1, 2].map(() => agent.begin({ tool: 'x', ...task('a') }))
    for (const call of calls) agent.end(call, LOST)
    agent.call({ tool: 'x', ...task('a') })
    agent.wait(3000)
    expect(agent.verdicts).toHaveLength(2)
    expect(duplicates(agent)).toHaveLength(1)
    expect(agent.counts.wasted).toBe(1)
  })

  it('under a fault that two rules injected into it', () => {
    const agent = watched()
    const causes: (readonly string[])[] = []
    agent.watch.read(({ event }) => causes.push(event.facts.causes))
    agent.call({ tool: 'x' }, { fault: 'delay', times: 2 })
    expect(causes).toEqual([['delay']])
  })
})

it('a session begun after an error belongs to its task where sessions alone name tasks', () => {
  const agent = watched({ by: ['session'] })
  agent.call({ tool: 'x', session: 'a' }, FAILED)
  const begun = agent.begin({ method: 'initialize', session: '' })
  agent.watch.sessionBegan(begun!, 'b')
  agent.end(begun)
  agent.call({ tool: 'x', session: 'b' })
  expect(agent.verdicts).toEqual(['retried'])
  expect(agent.watch.size).toBe(1)
  expect(agent.begin({ method: 'initialize', session: '', peer: '127.0.0.2' })).toBeUndefined()
})

it('an event keeps no long text of its client', () => {
  const agent = watched()
  const events: FaultEvent[] = []
  agent.watch.read(({ event }) => events.push(event))
  const long = 'n'.repeat(100_000)
  for (const [tool, method] of [
    [`${long}1`, 'tools/call'],
    [`${long}2`, 'tools/call'],
    [`${long}2`, 'tools/call'],
    ['x', `${long}/get`],
  ] as const) {
    agent.call({ tool, method }, FAILED)
  }
  agent.wait(3000)
  expect(agent.verdicts.sort()).toEqual(['gave_up', 'retried', 'switched_tool', 'switched_tool'])
  for (const { facts } of events) {
    expect(`${facts.action.name} ${facts.action.method}`.length).toBeLessThan(400)
  }
})
