import { expect, it } from 'vitest'
import { jsonApp } from '../faults/apps.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()
const LOST = 'abort: { rpcError: {}, at: response }'

it.each([
  ['retried_changed', 5],
  // It succeeds with the first call, and is executed again with the same arguments.
  ['duplicate_execution', 0],
])('after calls with other arguments that succeed, a lost call is %s', async (verdict, last) => {
  const rules = `rules: [{ name: lost, match: { tool: weather }, first: 1, faults: [${LOST}] }]`
  const { squall } = opened(
    await startSquall({ rules, flags: ['--tasks', '--task-window', '1s'], upstream: jsonApp }),
  )
  const { watch, findings } = squall.running.agents!
  const verdicts: string[] = []
  watch.read((event) => verdicts.push(event.verdict))
  for (const city of [0, 1, 2, 3, 4, last]) {
    await postInTask(squall.port, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'weather', arguments: { city } },
    })
  }
  await eventually(() => (verdicts.length > 0 ? undefined : 'no verdict'))
  expect(verdicts).toEqual([verdict])
  const runaway = findings.list().filter(({ kind }) => kind === 'runaway')
  expect(runaway).toMatchObject([{ count: 0, of: 1 }])
})
