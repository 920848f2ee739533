import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()
const FAILED = { isError: true, content: [] }
const BROKEN = { error: { code: -32603, message: 'broken' } }

interface Asked {
  readonly id: number
  readonly method: string
  readonly params: { readonly taskId?: string }
}

/** A server whose tools all run as tasks, of which the first fails. */
function taskApp(failure: object): RequestListener {
  let tasks = 0
  return (req, res) => {
    let text = ''
    req.on('data', (part: Buffer) => (text += part.toString()))
    req.on('end', () => {
      const { id, method, params } = JSON.parse(text) as Asked
      const begun = { result: { task: { taskId: `t${tasks + 1}`, ttl: 60_000 } } }
      if (method === 'tools/call') tasks++
      const ended = params.taskId === 't1' ? failure : { result: { content: [] } }
      const reply = { jsonrpc: '2.0', id, ...(method === 'tools/call' ? begun : ended) }
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(reply))
    })
  }
}

async function started(failure: object) {
  const flags = ['--tasks', '--task-window', '1h']
  const upstream = taskApp(failure)
  const { squall } = opened(await startSquall({ rules: 'rules: []', flags, upstream }))
  const { watch } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ event, verdict }) => verdicts.push(`${event.facts.action.tool} ${verdict}`))
  const ask = (method: string, params: object): Promise<void> =>
    postInTask(squall.port, { jsonrpc: '2.0', id: 1, method, params })
  return {
    verdicts,
    result: (taskId: string) => ask('tasks/result', { taskId }),
    call: (name: string, path = '/') => ask('tools/call', { name, arguments: { path }, task: {} }),
    settled: () => eventually(() => (watch.waiting === 0 ? undefined : 'a verdict is missing')),
    tasks: () =>
      [...watch.tasks()].map(({ task }) => Object.assign({ result: task.result }, task.sums)),
  }
}

it.each([
  ['tool error', 'retried', { result: FAILED }, 'index', '/', 1],
  ['JSON-RPC error', 'retried', BROKEN, 'index', '/', 1],
  ['tool error', 'retried_changed', { result: FAILED }, 'index', '/other', 0],
  ['tool error', 'switched_tool', { result: FAILED }, 'search', '/', 0],
])('after an MCP task that failed with a %s, a call is %s', async (...row) => {
  const [, verdict, failure, tool, path, retries] = row
  const { call, result, settled, tasks, verdicts } = await started(failure)
  await call('index')
  await result('t1')
  expect(tasks()).toMatchObject([{ result: 'failed' }])
  await call(tool, path)
  await result('t2')
  await settled()
  expect(verdicts).toEqual([`index ${verdict}`])
  expect(tasks()).toMatchObject([{ calls: 2 - retries, retries, result: 'recovered' }])
})

it('a result of an MCP task that is read again is no call of its tool', async () => {
  const { call, result, settled, tasks, verdicts } = await started(BROKEN)
  await call('index')
  await result('t1')
  await result('t1')
  await call('index')
  await settled()
  expect(verdicts).toEqual(['index retried', 'index retried'])
  expect(tasks()).toMatchObject([{ calls: 1, retries: 1, result: 'recovered' }])
})
