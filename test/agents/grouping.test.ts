import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { rounds } from '../support/rounds.ts'
import { MAX_TASKS } from '../../src/agents/task-table.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { FAILED, watched } from './agents.ts'

const SECRET = { secret: 'hunter2' }
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('a call belongs to the task that is named first', () => {
  const all = { headers: ['x-task-id', 'h'], trace: TRACE, meta: { task: 7 }, session: 's' }
  it.each([
    ['header', all],
    ['meta', { ...all, headers: [] }],
    ['session', { session: 's' }],
    ['client', { session: '' }],
  ] as const)('by %s', (kind, asked) => {
    const { begin } = watched()
    const action = begin({ tool: 'search', ...asked })
    expect(action?.task.kind).toBe(kind)
    expect(begin({ tool: 'other', ...asked })?.task).toBe(action?.task)
  })

  it('only by the kinds that are in use', () => {
    const { begin } = watched({ by: ['header'] })
    expect(begin({ tool: 'search' })).toBeUndefined()
  })
})

describe('a task', () => {
  it('ends after the window without a call, and counts once with its result', () => {
    const { call, wait, counts } = watched()
    call({ tool: 'a', session: '1' })
    call({ tool: 'a', session: '2' }, FAILED)
    call({ tool: 'b', session: '2' })
    call({ tool: 'a', session: '3' }, FAILED)
    call({ method: 'initialize', session: '4' })
    wait(3000)
    wait(3000)
    expect(Object.fromEntries(counts.ended)).toEqual({ ok: 1, recovered: 1, failed: 1 })
    expect(counts.open).toBe(0)
    expect(Object.fromEntries(counts.calls)).toEqual({ session: 4 })
  })

  it('counts a retry apart from a call, and one that failed again as wasted', () => {
    const { call, counts, watch } = watched()
    call({ tool: 'a' }, FAILED)
    call({ tool: 'a' }, FAILED)
    call({ tool: 'a' })
    expect(
      [...watch.tasks()].map(({ task: { sums } }) => [sums.calls, sums.retries, sums.wasted]),
    ).toEqual([[1, 2, 1]])
    expect(counts.retries).toBe(2)
  })

  it('has no verdict on pings that fail, which a timer sends again', () => {
    const { call, counts, verdicts, wait } = watched()
    call({ tool: 'a' })
    for (let i = 0; i < 5; i++) call({ method: 'ping' }, FAILED)
    wait(3000)
    expect([verdicts, counts.wasted]).toEqual([[], 0])
    expect(Object.fromEntries(counts.ended)).toEqual({ ok: 1 })
  })

  it.each(['initialize', 'completion/complete'])('counts no %s as wasted', (method) => {
    const { call, counts } = watched()
    for (let i = 0; i < 3; i++) call({ method }, FAILED)
    expect([counts.retries, counts.wasted]).toEqual([0, 0])
  })

  it('goes on in the session that its agent began after it lost one', () => {
    const { begin, end, call, verdicts, watch } = watched()
    call({ tool: 'pay', session: 'a' }, { ...FAILED, executed: true })
    const again = begin({ method: 'initialize', session: '' })
    watch.sessionBegan(again!, 'b')
    end(again)
    call({ tool: 'pay', session: 'b' })
    expect(verdicts).toEqual(['duplicate_execution'])
    expect(watch.size).toBe(1)
  })

  it.each([{}, FAILED])('keeps neither arguments of calls that ended (%o) nor long keys', (end) => {
    const { call, watch } = watched()
    call({ tool: 'a', args: SECRET, headers: ['x-task-id', 'k'.repeat(60_000)] }, end)
    const [{ task } = { task: undefined }] = [...watch.tasks()]
    expect(task?.key.length).toBeLessThan(100)
    expect(inspect(task, { depth: 9, showHidden: true })).not.toContain('hunter2')
  })

  it('that was evicted keeps no arguments of calls that end later', () => {
    const { begin, end, call, watch } = watched({ maxTasks: 1 })
    const action = begin({ tool: 'a', args: SECRET, headers: ['x-task-id', 'one'] })!
    call({ tool: 'a', headers: ['x-task-id', 'two'] })
    end(action, FAILED)
    const tasks = [...watch.tasks()].map(({ task }) => task)
    expect(tasks).toHaveLength(2)
    expect(inspect(tasks, { depth: 9, showHidden: true })).not.toContain('hunter2')
  })
})

it('holds a bounded number of tasks and events, however many calls there are', () => {
  const calls = rounds(8_000, 1_000_000)
  const { call, watch, verdicts, wait, evicted } = watched({ window: 1e9, maxTasks: 1000 })
  let most = 0
  for (let i = 0; i < calls; i++) {
    call({ tool: `t${i % 7}`, headers: ['x-task-id', `${i % 100_000}`] }, i % 3 ? {} : FAILED)
    most = Math.max(most, watch.size, watch.waiting / 2)
  }
  expect(most).toBeLessThanOrEqual(1000)
  expect(evicted()).toBeGreaterThan(calls / 2)
  wait(3e9)
  wait(3e9)
  expect(watch.size).toBe(0)
  expect(verdicts).toHaveLength(Math.ceil(calls / 3))
})

it('holds bounded memory when every task is full of failed calls with long names', () => {
  const { call, watch } = watched({ window: 1e9 }, () => 'other')
  const tasks = rounds(200, MAX_TASKS)
  const before = bytesHeld().heapUsed
  const long = 'n'.repeat(300)
  for (let i = 0; i < tasks; i++) {
    for (let j = 0; j < 45; j++) {
      call({ tool: `${long}${i}-${j}`, headers: ['x-task-id', `${i}`] }, FAILED)
    }
  }
  expect(watch.size).toBe(tasks)
  const held = (bytesHeld().heapUsed - before) / 1e6
  expect(held).toBeLessThan(10 + tasks / 200)
})

it('holds no more memory after a million calls in 100,000 tasks than with full tables', () => {
  const calls = rounds(40_000, 1_000_000)
  const { call, verdicts, watch } = watched({ window: 1e9 })
  const before = bytesHeld().heapUsed
  const send = (from: number, to: number): number => {
    for (let i = from; i < to; i++) {
      const asked = {
        tool: `t${i % 7}`,
        headers: ['x-task-id', `${i % 100_000}`],
        session: `s${i}`,
      }
      call({ ...asked, trace: `trace ${i}` }, i % 2 ? {} : FAILED)
    }
    verdicts.length = 0
    return bytesHeld().heapUsed - before
  }
  const full = send(0, calls / 2)
  expect(watch.size).toBe(MAX_TASKS)
  const after = send(calls / 2, calls)
  expect(full).toBeLessThan(20e6)
  expect(after - full).toBeLessThan(1e6)
})
