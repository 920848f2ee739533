import { expect, it } from 'vitest'
import { bytesHeld } from '../support/bytes-held.ts'
import { closers } from '../support/closers.ts'
import { call, callMessage, startSidecar } from '../support/wire.ts'
import { jsonApp } from './apps.ts'
import { oneFault } from './one-fault.ts'

const opened = closers()

it('an episode fails all calls of consecutive tasks, and none of the others', async () => {
  const keys = 'match: { tool: echo }\n    stickyBy: trace\n    episode: { tasks: 2, of: 4 }'
  const rules = [oneFault('abort: { status: 503 }', keys)]
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  const statuses: number[][] = []
  for (let task = 0; task < 8; task++) {
    const trace = `00-${String(task + 1).padStart(32, '0')}-00f067aa0ba902b7-01`
    const headers = { traceparent: trace }
    const first = await call({ ...stage, headers }, callMessage(1))
    const second = await call({ ...stage, headers }, callMessage(2))
    statuses.push([first.status, second.status])
  }
  const [bad, good] = [
    [503, 503],
    [200, 200],
  ]
  expect(statuses).toEqual([bad, bad, good, good, bad, bad, good, good])
})

it('keeps no long keys of tasks, which callers choose', async () => {
  const keys = `match: { tool: echo }\n    stickyBy: { header: x-task }\n    episode: { tasks: 1, of: 2 }`
  const rules = [oneFault('abort: { status: 503 }', keys)]
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  const callsOf = async (count: number, name: string): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const headers = { 'x-task': `${name}${n}${'x'.repeat(12_000)}` }
      await call({ ...stage, headers }, callMessage(n))
    }
  }
  await callsOf(50, 'warm')
  const before = bytesHeld().heapUsed
  await callsOf(1000, 'task')
  expect(bytesHeld().heapUsed - before).toBeLessThan(6_000_000)
})
