import { expect, it } from 'vitest'
import { callMessage } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const RULES = 'rules: [{ name: slow, match: { tool: pay }, faults: [delay: { fixed: 1ms }] }]'

it('a stream that its client left before the response may be an execution', async () => {
  let calls = 0
  const { squall } = opened(
    await startSquall({
      rules: RULES,
      flags: ['--tasks'],
      upstream: (req, res) => {
        req.resume().on('end', () => {
          res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
          if (++calls === 1) return
          res.end('data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n')
        })
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ verdict }) => verdicts.push(verdict))
  const pay = (signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${squall.port}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        'x-task-id': 'a',
      },
      body: JSON.stringify(callMessage(1, 'pay')),
      ...(signal && { signal }),
    })
  const leaving = new AbortController()
  const { status } = await pay(leaving.signal)
  expect(status).toBe(200)
  leaving.abort()
  await eventually(() => (watch.waiting === 1 ? undefined : 'the call has not ended'))
  await (await pay()).text()
  await eventually(() => (watch.waiting === 0 ? undefined : 'no verdict'))
  expect(verdicts).toEqual(['possible_duplicate', 'continued'])
})
