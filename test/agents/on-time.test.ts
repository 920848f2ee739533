import { expect, it, onTestFinished } from 'vitest'
import { startSquall } from '../support/commands.ts'
import { FAILED, watched } from './agents.ts'

const WINDOW_MS = 200
const RULES = `rules:
  - name: down
    match: { tool: probe }
    faults: [abort: { status: 503 }]
`

it('a call after the window is no reaction, although no sweep has passed', () => {
  const agent = watched()
  agent.call({ tool: 'x' }, FAILED)
  agent.pass(1050)
  agent.call({ tool: 'x' })
  expect(agent.verdicts).toEqual(['gave_up'])
})

it('a verdict is there when the window ends, and not up to a second later', async () => {
  const flags = ['--tasks', '--task-window', `${WINDOW_MS}ms`]
  const ruled = await startSquall({ rules: RULES, flags })
  onTestFinished(() => ruled.close())
  const late: number[] = []
  // The verdict of each call is awaited, so that a sweep each second would be late each time.
  for (let i = 0; i < 3; i++) {
    const decided = new Promise<void>((resolve) => {
      // A scrape of the metrics would sweep.
      onTestFinished(ruled.squall.running.agents!.watch.read(() => resolve()))
    })
    expect((await ruled.ask('probe', { 'mcp-session-id': `s-${i}` })).status).toBe(503)
    const ended = performance.now()
    await decided
    late.push(performance.now() - ended - WINDOW_MS)
  }
  // A busy machine may delay one of them.
  expect(Math.min(...late)).toBeLessThan(400)
})
