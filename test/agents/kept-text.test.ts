import { expect, it } from 'vitest'
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
