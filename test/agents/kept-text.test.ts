import { expect, it } from 'vitest'
import type { ActionEnd } from '../../src/agents/fault-event.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { FAILED, watched } from './agents.ts'

const TASKS = 1000
const BLOCK = 20_000

it('tasks and events keep their key alone of a header block, whatever header it is', () => {
  const before = bytesHeld().heapUsed
  const agents = (['header', 'trace', 'session'] as const).map((kind) => {
    const agent = watched({ by: [kind], window: 1e9, maxTasks: 2 * TASKS })
    for (let i = 0; i < TASKS; i++) {
      // Numbers make each text its own, and the text flat before it is cut.
      const block = Buffer.from(`00-${i.toString(16).padStart(32, '0')}-b7ad6b7169203331-01`)
      const text = Buffer.concat([block, Buffer.alloc(BLOCK, 'x')]).toString('latin1')
      const part = text.slice(0, 55)
      agent.call({ tool: 'a', headers: ['x-task-id', part], session: part, trace: part }, FAILED)
    }
    return agent
  })
  // Each of them would exceed it alone.
  expect(bytesHeld().heapUsed - before).toBeLessThan((TASKS * BLOCK) / 2)
  for (const { watch } of agents) expect(watch.size).toBe(TASKS)
})

it('calls of an unclear task keep what verdicts need, not the faults with their arguments', () => {
  const { watch, begin } = watched({ window: 1e9 })
  const spans: (string | undefined)[] = []
  watch.read(({ event }) => spans.push(event.facts.span))
  const before = bytesHeld().heapUsed
  for (let i = 1; i <= TASKS; i++) {
    const trace = `00-${i.toString(16).padStart(32, '0')}-b7ad6b7169203331-01`
    const action = begin({ tool: 'a', args: { i }, trace })!
    const call = { params: Buffer.alloc(BLOCK, 'x').toString('latin1') }
    const end: ActionEnd = {
      record: { outcome: 'http_error', origin: 'injected', changed: false, trace, span: trace },
      faults: [Object.assign({ rule: 'r', fault: 'abort' }, { call })],
      execution: 'none',
      isSessionLost: false,
      isTransient: true,
      client: undefined,
      session: 's',
    }
    watch.ended(action, end, i)
  }
  expect(watch.waiting).toBe(TASKS)
  expect(bytesHeld().heapUsed - before).toBeLessThan((TASKS * BLOCK) / 2)
  for (let i = 0; i < 3; i++) watch.sweep(1e10)
  expect(spans).toContain(`00-${'1'.padStart(32, '0')}-b7ad6b7169203331-01`)
  expect(spans).not.toContain(undefined)
})
