import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const TOOLS = ['hotel', 'flight', 'weather']
// All of them arrive before the first one fails.
const RULES = `rules:
  - name: down
    match: { tool: [${TOOLS.join(', ')}] }
    first: ${TOOLS.length}
    faults: [delay: { fixed: 150ms }, abort: { status: 503 }]
`

it('an agent that makes several calls at once, and repeats each, switches to no other tool', async () => {
  const { squall, ask } = opened(
    await startSquall({ rules: RULES, flags: ['--tasks', '--task-window', '1h'] }),
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
