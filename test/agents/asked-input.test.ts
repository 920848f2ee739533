import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()
const RULES = `rules:
  - { name: unread, match: { tool: unread }, first: 1, faults: [abort: { status: 503, at: response }] }
  - { name: read, match: { tool: read }, first: 1, faults: [stream: { drop: last }] }
  - { name: late, match: { tool: late }, after: 1, first: 1, faults: [stream: { drop: last }] }
`
const INPUT = { inputResponses: { sure: { action: 'accept', content: {} } }, requestState: 's' }

interface Request {
  readonly id: number
  readonly params: { readonly name: string; readonly inputResponses?: object }
}

/** Squall in front of a server whose tools ask for input before they execute a call. */
async function stage() {
  let executed = 0
  const resultOf = ({ params }: Request): object => {
    if (params.inputResponses === undefined) {
      return { resultType: 'input_required', inputRequests: {}, requestState: 's' }
    }
    executed++
    return { resultType: 'complete', content: [] }
  }
  const { squall } = opened(
    await startSquall({
      rules: RULES,
      flags: ['--tasks', '--task-window', '1s'],
      upstream: (req, res) => {
        let body = ''
        req.setEncoding('utf8').on('data', (part: string) => (body += part))
        req.on('end', () => {
          const request = JSON.parse(body) as Request
          const result = { jsonrpc: '2.0', id: request.id, result: resultOf(request) }
          res.setHeader('content-type', 'text/event-stream')
          res.end(`data: ${JSON.stringify(result)}\n\n`)
        })
      },
    }),
  )
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ verdict }) => verdicts.push(verdict))
  return { port: squall.port, verdicts, executed: () => executed }
}

it.each([
  ['a request for input that was not read', 'unread', [{}, {}, INPUT], 'retried', 1],
  ['a request for input', 'read', [{}, {}, INPUT], 'retried', 1],
  ['the result, and starts again', 'late', [{}, INPUT, {}, INPUT], 'duplicate_execution', 2],
] as const)('a client loses %s', async (_what, name, calls, verdict, times) => {
  const { port, verdicts, executed } = await stage()
  for (const [id, params] of calls.entries()) {
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, ...params } }
    await postInTask(port, message)
  }
  await eventually(() => (verdicts.length > 0 ? undefined : 'no verdict'))
  expect([executed(), ...verdicts]).toEqual([times, verdict])
})
