import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { asked } from '../../../../test/support/commands/command-line.ts'
import { type Program, startProgram } from '../../../../test/support/commands.ts'

const running: Program[] = []
afterEach(async () => {
  for (const program of running.splice(0)) await program.kill()
})

it('ends at once on Ctrl-C in the middle of the demo', async () => {
  const program = startProgram(['demo'])
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
    const none = { json: false, stay: false, report: undefined }
    expect(parse()).toEqual(none)
    expect(parse('--json', '--stay')).toEqual({ ...none, json: true, stay: true })
    expect(parse('--report', 'a.html')).toEqual({ ...none, report: 'a.html' })
  })

  it.each([
    [['--fast'], 'squall: unknown option "--fast"; see squall demo --help\n'],
    [['--jsn'], 'squall: unknown option "--jsn"; did you mean --json?\n'],
    [['--like', 'mcp-chaos'], 'squall: unknown option "--like"; see squall demo --help\n'],
    [['quick'], 'squall: unexpected argument "quick"; see squall demo --help\n'],
  ])('refuses %j in one line', async (args, line) => {
    const { code, stdout, stderr } = await startProgram(['demo', ...args], {}, { here: true })
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: line })
  })
})
