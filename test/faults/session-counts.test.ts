import { expect, it, onTestFinished } from 'vitest'
import { startSquall } from '../support/commands.ts'

const RULES = `rules:
  - name: lost
    match: { tool: probe }
    times: 1
    faults: [session: {}]
`

it('a lost session is one injection, however many requests find it lost', async () => {
  const ruled = await startSquall({ rules: RULES })
  onTestFinished(() => ruled.close())
  const { squall, ask } = ruled
  const headers = { 'mcp-session-id': 's-1' }
  for (const tool of ['probe', 'other', 'probe']) {
    expect((await ask(tool, headers)).status).toBe(404)
  }
  const url = `http://127.0.0.1:${squall.port}/mcp`
  const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })
  expect(stream.status).toBe(404)
  await squall.reaches('squall_calls_total', { origin: 'injected' }, 3)
  expect(await squall.metric('squall_faults_injected_total', { rule: 'lost' })).toBe(1)
  const errors = { rule: 'lost', result: 'injected' }
  expect(await squall.metric('squall_rule_evaluations_total', errors)).toBe(1)
})
