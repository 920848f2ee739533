import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { asked } from '../support/asked.ts'
import { type Program, startProgram } from '../support/program.ts'

const running: Program[] = []
afterEach(async () => {
  for (const program of running.splice(0)) await program.kill()
})

it.each([
  ['the demo', []],
  ['the demo of mcp-chaos', ['--like', 'mcp-chaos']],
])('ends at once on Ctrl-C in the middle of %s', async (_, args) => {
  const program = startProgram(['demo', ...args])
  running.push(program)
  await once(program.child.stdout!, 'data')
  program.signal('SIGINT')
  // npm forwards what the terminal has already delivered.
  program.signal('SIGINT')
  expect(await program.ended).toEqual({ code: 130, signal: null })
  expect(program.stdout()).toContain('stopped by SIGINT')
})

describe('the command line of squall demo', () => {
  it('knows its options', () => {
    const parse = (...args: string[]): unknown => asked(['demo', ...args])
    const like = { like: undefined, seed: 42, tasks: 200, callLog: undefined }
    const none = { json: false, stay: false, report: undefined, ...like }
    expect(parse()).toEqual(none)
    expect(parse('--json', '--stay')).toEqual({ ...none, json: true, stay: true })
    expect(parse('--report', 'a.html')).toEqual({ ...none, report: 'a.html' })
    const mcpChaos = { ...none, like: 'mcp-chaos' }
    expect(parse('--like', 'mcp-chaos')).toEqual(mcpChaos)
    const more = ['--seed', '7', '--tasks', '20', '--call-log', 'calls.jsonl']
    expect(parse('--like', 'mcp-chaos', ...more)).toEqual({
      ...mcpChaos,
      seed: 7,
      tasks: 20,
      callLog: 'calls.jsonl',
    })
  })

  it.each([
    [['--fast'], 'squall: unknown option "--fast"; see squall demo --help\n'],
    [['--jsn'], 'squall: unknown option "--jsn"; did you mean --json?\n'],
    [['--seed', '7'], 'squall: --seed needs --like; add --like mcp-chaos\n'],
    [
      ['--like', 'mcp-chaos', '--stay'],
      'squall: --stay does not fit --like; leave out one of them\n',
    ],
    [['quick'], 'squall: unexpected argument "quick"; see squall demo --help\n'],
  ])('refuses %j in one line', async (args, line) => {
    const { code, stdout, stderr } = await startProgram(['demo', ...args], {}, { here: true })
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: line })
  })
})
