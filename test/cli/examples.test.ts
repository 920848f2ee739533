import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { COMMANDS, parseCommandLine } from '../../src/cli/commands/index.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const EXAMPLES = COMMANDS.flatMap(({ name, examples }) =>
  examples.map((line): [string, string] => [name, line]),
)

/** Returns the words of a line as a shell does, up to a pipe or a redirection. */
function words(line: string): string[] {
  const command = line.split(/ [|>] /)[0]!
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
}

function printed(...args: string[]): string {
  const invocation = parseCommandLine(args, {}, '1.2.3')
  if (invocation.kind !== 'print') throw new Error(`${args.join(' ')} prints nothing`)
  return invocation.text
}

test.each(EXAMPLES)('the example of %s is a valid command line: %s', (name, line) => {
  const env = { SQUALL_ADMIN_TOKEN: 'a-token-for-the-examples-of-commands' }
  expect(parseCommandLine(words(line), env, '1.2.3')).toMatchObject({ kind: 'command', name })
})

test.each(COMMANDS)('the help of $name ends with examples and its page', (command) => {
  const lines = command.examples.map((line) => `  npx squall ${line}\n`).join('')
  const text = printed(...command.name.split(' '), '--help')
  expect(text.endsWith(`\nExamples:\n${lines}\nMore: ${command.page}\n`)).toBe(true)
  expect(command.examples.length).toBeGreaterThan(1)
  expect(existsSync(`${ROOT}${command.page}`)).toBe(true)
})

describe('help and version', () => {
  test.each(['--version', '-V', '-v'])('%s prints the version', (flag) => {
    expect(printed(flag)).toBe('1.2.3\n')
  })

  test.each(['report', 'report html', 'load'])('help %s is %s --help', (name) => {
    const asked = name.split(' ')
    expect(printed('help', ...asked)).toBe(printed(...asked, '--help'))
  })

  test('help for an unknown command names the nearest', () => {
    expect(() => printed('help', 'loda')).toThrow('did you mean load?')
  })
})
