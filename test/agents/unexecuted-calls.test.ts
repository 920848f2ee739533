import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()
const RULES = `rules:
  - { name: refused, match: { tool: pay, args: { /hit: true } }, first: 1, faults: [abort: { rpcError: {} }] }
  - { name: slow, match: { tool: book }, first: 1, faults: [throttle: { rate: 1MiB }] }
  - { name: changed, match: { tool: other }, faults: [inflate: { to: 1KiB }] }
`

interface Request {
  readonly id: number
  readonly params: { readonly name: string; readonly arguments: { readonly down?: boolean } }
}

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** Squall in front of an upstream that rejects the first call of each tool when it is asked to. */
async function stage() {
  const seen = new Set<string>()
  let executed = 0
  const respond = ({ id, params: { name, arguments: args } }: Request) => {
    const isFirst = !seen.has(name)
    seen.add(name)
    if (args.down === true && isFirst)
      return { jsonrpc: '2.0', id, error: { code: 1, message: '' } }
    if (name !== 'other') executed++
    return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } }
  }
  const { squall } = opened(
    await startSquall({
      rules: RULES,
      flags: ['--tasks', '--task-window', '1h'],
      upstream: (req, res) => {
        let body = ''
        req.setEncoding('utf8').on('data', (part: string) => (body += part))
        req.on('end', () => {
          const read = JSON.parse(body) as Request | Request[]
          res.setHeader('content-type', 'application/json')
          res.end(JSON.stringify(Array.isArray(read) ? read.map(respond) : respond(read)))
        })
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ event, verdict }) => verdicts.push(`${event.facts.action.name} ${verdict}`))
  return {
    verdicts,
    metrics: async () => (await fetch(`${squall.admin}/metrics`)).text(),
    executed: () => executed,
    post: (message: object) => postInTask(squall.port, message),
  }
}

const DOWN = { down: true }
const HIT = { hit: true }

it.each([
  ['a fault rejected beside another call', 'pay', [call(1, 'pay', HIT), call(2, 'other')], HIT],
  ['the upstream rejected beside a fault', 'pay', [call(1, 'pay', DOWN), call(2, 'other')], DOWN],
  ['the upstream rejected, slowly by a fault', 'book', call(1, 'book', DOWN), DOWN],
])('a call was not executed that %s', async (...[, tool, first, args]) => {
  const { post, verdicts, executed } = await stage()
  await post(first)
  await post(call(3, tool, args))
  const own = (): readonly string[] => verdicts.filter((each) => each.startsWith(tool))
  await eventually(() => (own().length > 0 ? undefined : 'no verdict'))
  expect(executed()).toBe(1)
  expect(own()).toEqual([`${tool} retried`])
})

it('the upstream had no time with a call of a batch that a fault kept from it', async () => {
  const { post, metrics } = await stage()
  await post([call(1, 'pay', HIT), call(2, 'other')])
  const counts = (await metrics()).match(/^squall_upstream_duration_seconds_count.*/gm)
  expect(counts).toEqual(['squall_upstream_duration_seconds_count{tool="other"} 1'])
})
