import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { jsonApp } from '../faults/apps.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()
/** More calls than a runaway has retries. */
const CALLS = 5

it.each([
  ['different tools', (index: number) => ({ name: `tool ${index}`, arguments: {} })],
  ['one tool', (index: number) => ({ name: 'weather', arguments: { city: index } })],
])('an agent that calls %s at once, and repeats each call, retries', async (_what, params) => {
  const held: ServerResponse[] = []
  const { squall } = opened(
    await startSquall({
      rules: 'rules: []',
      flags: ['--tasks', '--task-window', '1h'],
      upstream: (req, res) => {
        if (held.length === CALLS) return jsonApp(req, res)
        // No call fails before all of them have arrived.
        held.push(res)
        req.resume()
        if (held.length < CALLS) return
        for (const each of held) each.writeHead(503).end()
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ event, verdict }) => verdicts.push(`${verdict} ${event.retries}`))
  const call = (index: number): Promise<void> =>
    postInTask(squall.port, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: params(index),
    })
  const indexes = Array.from({ length: CALLS }, (_, index) => index)
  await Promise.all(indexes.map(call))
  await Promise.all(indexes.map(call))
  await eventually(() => (watch.waiting === 0 ? undefined : 'a verdict is missing'))
  expect(verdicts).toEqual(indexes.map(() => 'retried 1'))
})
