import { expect, it } from 'vitest'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { startProgram } from '../support/commands.ts'

it.each([
  ['Authorization', 'may carry secrets'],
  ['cookie', 'may carry secrets'],
  ['Proxy-Authorization', 'may carry secrets'],
  ['x-api-key', 'may carry secrets'],
  ['x task', 'is not a valid header name'],
])('no key of a task comes from the header %s', async (name, reason) => {
  const line = ['run', '--upstream', 'http://127.0.0.1:1', '--task-header', name]
  const { code, stderr } = await startProgram(line, {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toContain(reason)
  expect(stderr).toContain('x-task-id')
})

it.each([
  [[], {}, true],
  [['--tasks'], {}, true],
  [['--tasks=true'], {}, true],
  [['--tasks=false'], {}, false],
  [['--tasks=false', '--task-window', '5s'], {}, false],
  [[], { SQUALL_TASKS: 'false' }, false],
])('squall run and squall stdio group calls into tasks with %j and %j: %s', (args, env, isOn) => {
  for (const line of [
    ['run', ...args],
    ['stdio', ...args, '--', 'cat'],
  ]) {
    const { request } = parseCommandLine(line, env, '1.2.3') as { request: { tasks?: object } }
    expect(request.tasks !== undefined).toBe(isOn)
  }
})
