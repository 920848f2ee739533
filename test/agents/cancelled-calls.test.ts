import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { callMessage } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { postInTask } from './post-in-task.ts'

const opened = closers()
const RULES = `rules:
  - { name: slow, match: { tool: pay }, first: 1, faults: [delay: { fixed: 1ms }] }
  - { name: late, match: { tool: late }, faults: [delay: { fixed: 200ms }, abort: { status: 503 }] }
  - { name: hung, match: { tool: search }, faults: [hang: {}] }
`

/** Squall in front of an upstream that never responds to its first call, and a client. */
async function stage(window: string) {
  let executed = 0
  const { squall } = opened(
    await startSquall({
      rules: RULES,
      flags: ['--tasks', '--task-window', window],
      upstream: (req, res) => {
        let body = ''
        req.setEncoding('utf8').on('data', (part: string) => (body += part))
        req.on('end', () => {
          if (!body.includes('"id"')) res.writeHead(202).end()
          else if (++executed > 1) {
            res.setHeader('content-type', 'application/json')
            res.end('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
          }
        })
      },
    }),
  )
  const post = (message: object) => postInTask(squall.port, message)
  const { watch, findings } = squall.running.agents!
  const verdicts: string[] = []
  watch.read(({ verdict }) => verdicts.push(verdict))
  return {
    watch,
    findings,
    verdicts,
    executed: () => executed,
    call: (tool: string, id = 1) => post(callMessage(id, tool)),
    cancel: (reason: string, requestId = 1) =>
      post({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId, reason },
      }),
  }
}

it('a call that its client cancelled may have been executed', async () => {
  const { watch, verdicts, executed, call, cancel } = await stage('1h')
  void call('pay').catch(() => undefined)
  await eventually(() => (executed() === 1 ? undefined : 'the upstream has no call'))
  await cancel('the user asked for something else')
  await eventually(() => (watch.waiting === 1 ? undefined : 'the call has not ended'))
  await call('pay')
  await eventually(() => (watch.waiting === 0 ? undefined : 'no verdict'))
  expect(executed()).toBe(2)
  expect(verdicts).toEqual(['possible_duplicate'])
})

it('a client that cancels a hung call because it timed out has a time limit', async () => {
  const { verdicts, findings, call, cancel } = await stage('200ms')
  void call('search').catch(() => undefined)
  await sleep(400)
  await cancel('Request timed out')
  await eventually(() => (verdicts.length === 1 ? undefined : 'no verdict'))
  expect(findings.list().filter(({ kind }) => kind === 'no_time_limit')).toMatchObject([
    { count: 0, of: 1 },
  ])
})

it.each(['before', 'after'])(
  'a call that was cancelled %s an earlier one failed does not recover the task',
  async (when) => {
    const { watch, call, cancel } = await stage('1h')
    const late = call('late')
    await eventually(() => (watch.size === 1 ? undefined : 'no call'))
    void call('search', 2).catch(() => undefined)
    const { task } = [...watch.tasks()][0]!
    await eventually(() => (task.seq === 2 ? undefined : 'no second call'))
    if (when === 'after') await late
    await cancel('not needed', 2)
    await late
    await eventually(() => (task.open === 0 ? undefined : 'calls are open'))
    expect(task.result).toBe('failed')
  },
)
