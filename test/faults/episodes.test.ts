import { expect, it } from 'vitest'
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
