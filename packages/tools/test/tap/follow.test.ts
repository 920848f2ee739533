// part: slow
import { expect, it } from 'vitest'
import { followVerdicts } from '../../src/tap/tap.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { FakeTerminal } from '../top/fake-terminal.ts'

const opened = closers()
const RULES = 'rules: [{ name: broken, match: { tool: bad }, faults: [abort: { status: 503 }] }]'

async function begin(options: { json: boolean; query?: string }, flags: readonly string[]) {
  const ruled = opened(await startSquall({ rules: RULES, flags }))
  const { port } = ruled.squall.running.admin!
  const terminal = new FakeTerminal(false)
  const problems: string[] = []
  const endpoints = [{ host: '127.0.0.1', port }]
  const ended = followVerdicts(
    { endpoints, readToken: undefined, query: '', limit: 1, colours: false, ...options },
    terminal,
    {
      write: (text: string) => problems.push(text),
    },
  )
  return { ...ruled, terminal, problems, ended }
}

it('shows what an agent did as soon as that is clear, and ends after the limit', async () => {
  const { ask, terminal, ended, squall } = await begin({ json: false }, ['--task-header', 'x-run'])
  // A verdict before the stream is open would be missed.
  for (let run = 0; terminal.written === ''; run++) {
    await ask('bad', { 'x-run': `run-${run}` })
    await ask('fine', { 'x-run': `run-${run}` })
  }
  expect(await ended).toBe(0)
  expect(terminal.written).toMatch(/run-\d+ +bad +abort +http_error +switched_tool +0\n$/)
  expect(squall.running.agents).toBeDefined()
})

it('writes lines of JSON, of verdicts that the filters select', async () => {
  const query = 'verdict=retried'
  const { ask, terminal, ended } = await begin({ json: true, query }, ['--task-window', '200ms'])
  for (let run = 0; terminal.written === ''; run++) {
    await ask('bad', { 'x-task-id': `run-${run}` })
    await ask(run % 2 ? 'bad' : 'fine', { 'x-task-id': `run-${run}` })
  }
  await ended
  expect(JSON.parse(terminal.written)).toMatchObject({
    by: 'header',
    tool: 'bad',
    faults: ['abort'],
    outcome: 'http_error',
    origin: 'injected',
    verdict: 'retried',
  })
})

it('names the option of a sidecar that watches no agents', async () => {
  const { ended, terminal } = await begin({ json: false }, ['--tasks=false'])
  await expect(ended).rejects.toThrow(/start squall run or squall stdio without --tasks=false$/)
  expect(terminal.written).toBe('')
})

it.each([
  ['--verdict', 'runs', 'unknown verdict "runs"'],
  ['--limit', '0', 'is out of range'],
])('rejects %s %s with the reason', async (flag, value, reason) => {
  const { code, stderr } = await startProgram(
    ['agents', '--follow', flag, value],
    {},
    { here: true },
  )
  expect(code).toBe(2)
  expect(stderr).toContain(reason)
})
