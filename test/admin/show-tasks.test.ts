import { expect, it } from 'vitest'
import { showTasks } from '../../src/admin/show-tasks.ts'
import { ShownIds } from '../../src/telemetry/shown-ids.ts'
import { FAILED, watched } from '../agents/agents.ts'

const task = (id: string) => ({ headers: ['x-task-id', id] })

function shown(query: string, agent = watched()) {
  for (const id of ['a', 'b']) {
    agent.call({ tool: `fetch ${id}`, ...task(id) }, FAILED)
    agent.call({ tool: `fetch ${id}`, ...task(id) }, { outcome: 'tool_error' })
    agent.call({ tool: 'other', ...task(id) })
    agent.call({ tool: `fetch ${id}`, ...task(id) })
  }
  agent.call({ method: 'initialize', session: 'c' })
  const { watch, counts } = agent
  return showTasks({ watch, counts, ids: new ShownIds() }, new URLSearchParams(query))
}

it.each([
  ['', 'b switched_tool, b retried, a switched_tool, a retried'],
  ['task=a', 'a switched_tool, a retried'],
  ['tool=fetch%20b', 'b switched_tool, b retried'],
  ['fault=abort', 'b retried, a retried'],
  ['verdict=switched_tool&task=b', 'b switched_tool'],
  ['tool=none', ''],
])('the verdicts that pass %j are shown with their tasks', (query, expected) => {
  const verdicts = shown(query).tasks.flatMap((each) => each.verdicts)
  expect(verdicts.map((each) => `${each.task} ${each.verdict}`).join(', ')).toBe(expected)
})

it('a handshake alone is no task', () => {
  const { open, tcaf, retriesPerTask, tasks } = shown('')
  expect({ open, tcaf, retriesPerTask, shown: tasks.length }).toEqual({
    open: 2,
    tcaf: 2,
    retriesPerTask: 2,
    shown: 2,
  })
})

it('rejects other filters', () => {
  expect(() => shown('session=a')).toThrow('unknown filter "session"')
})
