import { expect, it } from 'vitest'
import { oneFault } from '../faults/one-fault.ts'
import { stdioAgent } from '../truth/session-agents.ts'

const TASKS = {
  by: ['trace', 'session'],
  header: 'x-task-id',
  meta: undefined,
  window: 3_600_000,
  maxRetries: 3,
} as const
const ASKED = { name: 'a', arguments: {} }
const OTHER = { name: 'b', arguments: {} }

// The loss of a line shows at the end of the pipe, long after the agent has tried again.
it.each([
  ['a lost response', 'stream: { drop: last }', [ASKED], 'duplicate_execution'],
  ['a lost response, and goes on', 'stream: { drop: last }', [ASKED, OTHER], 'duplicate_execution'],
  ['a call that hangs', 'hang: {}', [ASKED], 'retried'],
])('an agent on stdio repeats %s', async (_, fault, calls, verdict) => {
  const rules = [{ ...oneFault(fault, 'match: { tool: a }'), first: 1 }]
  const { agent, agents, close } = await stdioAgent('one session', rules, TASKS, 'one trace')
  const seen: string[] = []
  agents.read((event) => seen.push(event.verdict))
  void agent.ask('tools/call', ASKED)
  for (const each of calls) await agent.ask('tools/call', each)
  await close()
  agents.sweep(1e10)
  expect(seen).toEqual([verdict])
})
