// part: slow
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import type { Errors } from '../../src/admin/contract/api.ts'

const opened = closers()
const RULES = `rules:
  - { name: closed, match: { tool: close }, first: 1, faults: [stream: { close: last }] }
`

it.each([
  ['pay', 'possible_duplicate'],
  ['close', 'duplicate_execution'],
])('a client that calls %s again does not resume its stream: %s', async (tool, verdict) => {
  let calls = 0
  const { squall } = opened(
    await startSquall({
      rules: RULES,
      flags: ['--tasks', '--task-window', '1h', '--in-flight-ttl', '1s'],
      upstream: (req, res) => {
        const id = ++calls
        req.resume().on('end', () => {
          res.writeHead(200, { 'content-type': 'text/event-stream' })
          res.write('id: 1\ndata: \n\n')
          // The response waits for a client that comes back.
          const result = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })
          res.end(id === 1 && tool === 'pay' ? '' : `id: 2\ndata: ${result}\n\n`)
        })
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read((event) => verdicts.push(event.verdict))
  const leftAt: number[] = []
  for (const id of [1, 2]) {
    const response = await fetch(`http://127.0.0.1:${squall.port}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        'mcp-session-id': 's',
        'x-task-id': 'a',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: tool, arguments: {} },
      }),
    })
    await response.text()
    leftAt.push(Date.now())
  }
  await eventually(() => (verdicts.length > 0 ? undefined : 'no verdict'))
  expect(verdicts).toEqual([verdict])
  const { errors } = (await (await fetch(`${squall.admin}/api/errors`)).json()) as Errors
  expect(Date.parse(errors[0]!.first!)).toBeLessThan(leftAt[0]! + 100)
})
