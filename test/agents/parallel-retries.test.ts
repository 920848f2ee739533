import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { jsonApp } from '../faults/apps.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const TOOLS = ['hotel', 'flight', 'weather']

it('an agent that makes several calls at once, and repeats each, switches to no other tool', async () => {
  const held: ServerResponse[] = []
  const { squall, ask } = opened(
    await startSquall({
      rules: 'rules: []',
      flags: ['--tasks', '--task-window', '1h'],
      upstream: (req, res) => {
        if (held.length === TOOLS.length) return jsonApp(req, res)
        // No call fails before all of them have arrived.
        held.push(res)
        req.resume()
        if (held.length < TOOLS.length) return
        for (const each of held) each.writeHead(503).end()
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ event, verdict }) => verdicts.push(`${event.facts.action.name} ${verdict}`))
  const all = () => Promise.all(TOOLS.map((tool) => ask(tool, { 'x-task-id': 'a' })))
  await all()
  await all()
  await eventually(() => (watch.waiting === 0 ? undefined : 'a verdict is missing'))
  expect(verdicts.sort()).toEqual(TOOLS.map((tool) => `${tool} retried`).sort())
})
