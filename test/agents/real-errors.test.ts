import { expect, it } from 'vitest'
import { callMessage } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()

/** Squall in front of an upstream that fails the first call, and a caller. */
async function failingOnce() {
  let calls = 0
  const { squall } = opened(
    await startSquall({
      rules: 'rules: []',
      flags: ['--tasks', '--task-by', 'header'],
      upstream: (req, res) => {
        req.resume().on('end', () => {
          const isError = ++calls === 1
          res.setHeader('content-type', 'application/json')
          res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [], isError } }))
        })
      },
    }),
  )
  const { watch, counts } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ verdict }) => verdicts.push(verdict))
  const pay = async (args: string): Promise<void> => {
    const message = JSON.stringify(callMessage(1, 'pay')).replace('"arguments":{}', args)
    await postInTask(squall.port, message)
  }
  return {
    verdicts,
    watch,
    counts,
    twice: async (first: string, second: string): Promise<void> => {
      const before = verdicts.length
      await pay(`"arguments":${first}`)
      await pay(`"arguments":${second}`)
      await eventually(() => (verdicts.length > before ? undefined : 'no verdict'))
    },
  }
}

const LONG = 'x'.repeat(40_000)

it.each([
  ['retried', '{"a":1,"b":[true,"x"]}', '{"a":1,"b":[true,"x"]}'],
  ['retried', '{"a":1,"b":[true,"x"]}', '{ "b": [true, "\\u0078"], "a": 1.0 }'],
  ['retried', `{"a":"${LONG}"}`, `{"a":"${LONG}"}`],
  ['retried_changed', '{"a":1,"b":[true,"x"]}', '{"a":1,"b":["x",true]}'],
  ['retried_changed', `{"a":"${LONG}"}`, `{"a":"${LONG}y"}`],
])('after a real error of the server, the next call is %s', async (verdict, first, second) => {
  const { verdicts, watch, counts, twice } = await failingOnce()
  await twice(first, second)
  expect(verdicts).toEqual([verdict])
  const isSame = verdict === 'retried'
  expect(counts.retries).toBe(isSame ? 1 : 0)
  expect([...watch.tasks()].map(({ task }) => task.sums.calls)).toEqual([isSame ? 1 : 2])
})
