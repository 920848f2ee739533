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

/** Starts Squall; no call of a wave gets its status before all calls of the wave have arrived. */
async function started(waves: readonly (readonly number[])[], rules = 'rules: []') {
  const statuses = waves.map((wave) => [...wave])
  const held: (() => void)[] = []
  const { squall } = opened(
    await startSquall({
      rules,
      flags: ['--tasks', '--task-window', '1h'],
      upstream: (req, res: ServerResponse) => {
        const [wave] = statuses
        const status = wave?.[held.length]
        if (status === undefined) return jsonApp(req, res)
        held.push(() => (status === 200 ? jsonApp(req, res) : res.writeHead(status).end()))
        if (held.length < wave!.length) return
        statuses.shift()
        for (const respond of held.splice(0)) respond()
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ event, verdict }) => verdicts.push(`${verdict} ${event.retries}`))
  return {
    verdicts,
    watch,
    post: (params: object): Promise<void> =>
      postInTask(squall.port, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  }
}

const INDEXES = Array.from({ length: CALLS }, (_, index) => index)
const FAILED = INDEXES.map(() => 503)

it.each([
  ['different tools', (index: number) => ({ name: `tool ${index}`, arguments: {} })],
  ['one tool', (index: number) => ({ name: 'weather', arguments: { city: index } })],
])('an agent that calls %s at once, and repeats each call, retries', async (_what, params) => {
  const { post, verdicts, watch } = await started([FAILED])
  await Promise.all(INDEXES.map((index) => post(params(index))))
  await Promise.all(INDEXES.map((index) => post(params(index))))
  await eventually(() => (watch.waiting === 0 ? undefined : 'a verdict is missing'))
  expect(verdicts).toEqual(INDEXES.map(() => 'retried 1'))
})

it('each of many calls that fail at once is repeated, and no agent gave up', async () => {
  const many = Array.from({ length: 50 }, (_, index) => index)
  const { post, verdicts, watch } = await started([many.map(() => 503)])
  const page = (index: number) => post({ name: 'fetch', arguments: { page: index } })
  await Promise.all(many.map(page))
  await Promise.all(many.map(page))
  await eventually(() => (watch.waiting === 0 ? undefined : 'a verdict is missing'))
  expect(verdicts).toEqual(many.map(() => 'retried 1'))
  const sums = [...watch.tasks()].map(({ task }) => task.sums)
  expect(sums).toMatchObject([{ calls: 50, retries: 50 }])
})

it('calls that are in flight at once after an error are no runaway', async () => {
  const { post, verdicts, watch } = await started([[503], INDEXES.map(() => 200)])
  const page = (index: number) => post({ name: 'fetch', arguments: { page: index } })
  await page(CALLS)
  await Promise.all(INDEXES.map(page))
  await eventually(() => (watch.waiting === 0 ? undefined : 'a verdict is missing'))
  expect(verdicts).toEqual([`retried_changed ${CALLS}`])
})

it('equal calls that are repeated together run away with the waves, not with the calls', async () => {
  const { post, verdicts, watch } = await started(Array.from({ length: 5 }, () => FAILED))
  const same = () => Promise.all(INDEXES.map(() => post({ name: 'fetch', arguments: {} })))
  for (let wave = 0; wave < 4; wave++) await same()
  expect(verdicts).toEqual([])
  await same()
  expect(verdicts).toEqual(INDEXES.map(() => `runaway ${3 * CALLS + 1}`))
  expect(watch.waiting).toBe(4 * CALLS)
})

it('each of equal calls whose responses were lost is executed twice by a retry of its own', async () => {
  const lost = `{ name: lost, match: { tool: book }, first: ${CALLS}, faults: [abort: { status: 503, at: response }] }`
  const { post, verdicts, watch } = await started([INDEXES.map(() => 200)], `rules: [${lost}]`)
  const book = () => post({ name: 'book', arguments: {} })
  await Promise.all(INDEXES.map(book))
  for (const done of INDEXES) {
    expect(verdicts).toHaveLength(done)
    await book()
    await eventually(() => (watch.waiting < CALLS - done ? undefined : 'a verdict is missing'))
  }
  expect(verdicts).toEqual(INDEXES.map(() => 'duplicate_execution 1'))
})
