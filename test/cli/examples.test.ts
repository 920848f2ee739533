import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { FAMILIES, PROGRAM, SECTIONS } from '../../src/cli/catalog.ts'
import { COMMANDS, parseCommandLine } from '../support/commands/command-line.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FAMILY_EXAMPLES = [PROGRAM, ...Object.values(FAMILIES)].flatMap(({ examples }) => examples)
const EXAMPLES = [
  ...COMMANDS.flatMap(({ name, examples }) =>
    examples.map((line): [string, string] => [name, line]),
  ),
  ...FAMILY_EXAMPLES.map((line): [string, string] => [
    COMMANDS.find(({ name }) => line === name || line.startsWith(`${name} `))!.name,
    line,
  ]),
]

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
  const lines = command.examples.map((line) => `  npx mcp-squall ${line}\n`).join('')
  const text = printed(...command.name.split(' '), '--help')
  expect(text.endsWith(`\nExamples:\n${lines}\nMore: ${command.page}\n`)).toBe(true)
  expect(command.examples.length).toBeGreaterThan(1)
  expect(existsSync(`${ROOT}${command.page}`)).toBe(true)
})

const PARENTS = Object.entries({ '': PROGRAM, ...FAMILIES })

test.each(PARENTS)('the help of squall %s ends with examples and its page', (name, family) => {
  const parent = name === '' ? [] : [name]
  const lines = family.examples.map((line) => `  npx mcp-squall ${line}\n`).join('')
  const text = printed(...parent, '--help')
  expect(text.endsWith(`\nExamples:\n${lines}\nMore: ${family.page}\n`)).toBe(true)
  expect(existsSync(`${ROOT}${family.page}`)).toBe(true)
})

test('the help of the program has each command in one section', () => {
  const firsts = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!))
  expect(
    Object.values(SECTIONS)
      .flatMap((section) => Object.keys(section))
      .sort(),
  ).toEqual([...firsts, 'help'].sort())
  const sections = printed('--help').split(/^(?=\S.*:$)/m)
  for (const [section, names] of Object.entries(SECTIONS)) {
    const text = sections.find((each) => each.startsWith(section))
    expect(text!.match(/^ {2}[a-z-]+/gm)!.map((name) => name.trim())).toEqual(Object.keys(names))
  }
})

test('each first word of commands with two has a description of its own', () => {
  const firsts = COMMANDS.map(({ name }) => name.split(' ')).filter(({ length }) => length === 2)
  expect(new Set(firsts.map(([first]) => first))).toEqual(new Set(Object.keys(FAMILIES)))
})

describe('help and version', () => {
  test.each(['--version', '-V', '-v', 'version'])('%s prints the version', (flag) => {
    expect(printed(flag)).toBe('1.2.3\n')
  })

  test.each(['report', 'report html', 'load'])('help %s is %s --help', (name) => {
    const asked = name.split(' ')
    expect(printed('help', ...asked)).toBe(printed(...asked, '--help'))
  })

  test('help version prints the version', () => {
    expect(printed('help', 'version')).toBe('1.2.3\n')
  })

  test('help for an unknown command names the nearest', () => {
    expect(() => printed('help', 'loda')).toThrow('did you mean load?')
  })
})
