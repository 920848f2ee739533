import { expect, test } from 'vitest'
import { isErrorJson } from '../../packages/experiments/src/operations/in-cluster/job-log.ts'
import { endingOf } from '../../src/cli/ending.ts'
import { startProgram } from '../support/commands.ts'

const NOWHERE = ['--target', 'http://127.0.0.1:9/mcp']

/** The one object that a command printed on standard output. */
function printed(stdout: string): { readonly ok: boolean; readonly error: string } {
  return JSON.parse(stdout) as ReturnType<typeof printed>
}

test.each([
  [['load', ...NOWHERE], 1, 'the target cannot be reached'],
  [['try', '--url', 'http://127.0.0.1:9/mcp'], 1, 'the target cannot be reached'],
  [['agents', '127.0.0.1:6666'], 1, 'block this port: use another port for --admin'],
  [['tap', '127.0.0.1:9'], 1, 'pass the admin port of a running sidecar'],
  [['experiment', 'next', ...NOWHERE, '--sidecar', '127.0.0.1:9'], 1, 'cannot be read'],
  [['experiment', 'run', '/nowhere/plan.yaml'], 2, 'no such file'],
  [['tape', 'show', '/nowhere/a.tape'], 2, 'no such file'],
  [['load', '--frobnicate'], 2, 'unknown option'],
])('%j --json prints its error as JSON', async (args, code, text) => {
  const came = await startProgram([...args, '--json'], {}, { here: true })
  expect(came.code).toBe(code)
  const { ok, error } = printed(came.stdout)
  expect(ok).toBe(false)
  expect(error).toContain(text)
  expect(came.stderr).toContain(`squall: ${error}\n`)
})

test('an invalid plan has its problems in the JSON', async () => {
  const came = await startProgram(
    ['experiment', 'run', 'package.json', '--json'],
    {},
    { here: true },
  )
  expect(printed(came.stdout)).toMatchObject({
    ok: false,
    error: expect.stringContaining('is not a valid plan') as string,
    files: [{ file: 'package.json', ok: false, problems: expect.any(Array) as unknown }],
  })
  expect(came.stderr).toMatch(/^package\.json:\d+:\d+: /)
})

test('the program itself prints the object, and the exit code stays', async () => {
  const { code, stdout } = await startProgram(['load', ...NOWHERE, '--json']).finished()
  expect(code).toBe(1)
  expect(printed(stdout).ok).toBe(false)
  for (const SQUALL_JSON of ['true', '1']) {
    const asked = await startProgram(['load', ...NOWHERE], { SQUALL_JSON }).finished()
    expect(printed(asked.stdout)).toEqual(printed(stdout))
  }
})

test('SQUALL_JSON makes the results of every command JSON, as its errors', async () => {
  const env = { SQUALL_JSON: 'true' }
  const rules = 'examples/fan-out.yaml'
  for (const args of [
    ['explain', rules, '--tool', 'work'],
    ['validate', rules],
  ]) {
    const { stdout } = await startProgram(args, env, { here: true })
    expect(JSON.parse(stdout)).toBeTypeOf('object')
  }
})

test('without --json, or with that of another program, standard output stays empty', async () => {
  const plain = await startProgram(['load', ...NOWHERE], {}, { here: true })
  expect(plain).toMatchObject({ code: 1, stdout: '' })
  expect(endingOf(new Error('gone'), ['try', '--', 'server', '--json'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'squall: gone\n',
  })
})

test.each([
  [
    ['experiment', 'list', '--experiments', 'package.json'],
    'a part of its path is not a directory',
  ],
  [['experiment', 'show', 'last', '--experiments', 'package.json'], 'is not a directory'],
])('%j says that a path leads through a file', async (args, text) => {
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(1)
  expect(stderr).toContain(text)
  expect(stderr).toContain('; check the path and its permissions')
  expect(stderr).not.toContain('ENOTDIR')
})

test('a Job finds the message of its runner in a log that has the JSON as well', () => {
  const { stdout, stderr } = endingOf(new Error('gone'), ['experiment', 'run', '--json'])
  const lines = `${stderr}${stdout}`.trimEnd().split('\n')
  expect(lines.findLast((line) => !isErrorJson(line))).toBe('squall: gone')
  expect(isErrorJson('{ "error": "gone", "ok": false }')).toBe(true)
})
