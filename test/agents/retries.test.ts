import { expect, it } from 'vitest'
import { type Asked, FAILED, watched } from './agents.ts'

const task = { headers: ['x-task-id', 'a'] }
const CALL: Asked = { tool: 'search', args: { q: 1 }, ...task }
const OTHER: Asked = { tool: 'lookup', args: { q: 1 }, ...task }

it('counts a retry after a call that ran beside the failed one, whatever the verdict', () => {
  const { call, counts, verdicts } = watched()
  call(CALL, FAILED)
  call(OTHER)
  call(CALL, FAILED)
  call(CALL)
  expect(verdicts).toEqual(['switched_tool', 'retried'])
  expect(counts).toMatchObject({ retries: 2, wasted: 1 })
})

it('counts a call that succeeded before as no retry, nor one after a result that looks fine', () => {
  const { call, counts } = watched()
  call(CALL, FAILED)
  call(CALL)
  call(CALL, { fault: 'delay' })
  call(CALL)
  expect(counts.retries).toBe(1)
})

it('counts each retry of equal calls that ran beside each other', () => {
  const { begin, end, call, counts } = watched()
  const all = [begin(CALL), begin(CALL), begin(CALL)]
  end(all[0], FAILED)
  end(all[1])
  end(all[2], FAILED)
  call(CALL)
  call(CALL)
  call(CALL)
  expect(counts.retries).toBe(2)
})

it('remembers a bounded number of failed calls', () => {
  const { call, counts } = watched()
  for (let q = 0; q < 40; q++) call({ ...CALL, args: { q } }, FAILED)
  for (let q = 39; q >= 0; q--) call({ ...CALL, args: { q } })
  expect(counts.retries).toBe(32)
})

it('decides the oldest of more calls than may wait in a task, and counts it as evicted', () => {
  const { begin, end, evicted, verdicts, watch } = watched()
  const all = Array.from({ length: 1010 }, (_, q) => begin({ ...CALL, args: { q } }))
  for (const each of all) end(each, FAILED)
  expect(verdicts).toHaveLength(10)
  expect({ waiting: watch.waiting, evicted: evicted() }).toEqual({ waiting: 1000, evicted: 10 })
})

it('counts a changed result with which the agent went on, and none that it asked for again', () => {
  const { call, counts } = watched()
  const changed = { fault: 'rewrite', changed: true }
  call(CALL, changed)
  call(OTHER, changed)
  call(OTHER)
  call({ ...CALL, args: { q: 2 } }, { fault: 'delay' })
  call(OTHER)
  expect(counts.silent).toBe(1)
})
