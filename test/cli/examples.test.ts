import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { FAMILIES, HIDDEN, PROGRAM, SECTIONS } from '../../src/cli/catalog.ts'
import { COMMANDS, parseCommandLine } from '../support/commands/command-line.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FAMILY_EXAMPLES = [PROGRAM, ...Object.values(FAMILIES)].flatMap(({ examples }) => examples)
const EXAMPLES = [
  ...COMMANDS.flatMap(({ name, examples }) =>
    examples.map((line): [string, string] => [name, line]),
  ),
  ...FAMILY_EXAMPLES.map((line): [string, string] => [
    COMMANDS.findLast(({ name }) => line === name || line.startsWith(`${name} `))!.name,
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
  const parent = name.split(' ').filter((word) => word !== '')
  const lines = family.examples.map((line) => `  npx mcp-squall ${line}\n`).join('')
  const text = printed(...parent, '--help')
  expect(text.endsWith(`\nExamples:\n${lines}\nMore: ${family.page}\n`)).toBe(true)
  expect(existsSync(`${ROOT}${family.page}`)).toBe(true)
})

test('the help of the program has each command in one section', () => {
  const firsts = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!))
  const all = Object.values(SECTIONS).flatMap((section) => Object.keys(section))
  expect(all.sort()).toEqual([...firsts].sort())
  for (const [text, hidden] of [
    [printed('help', '--all'), []],
    [printed('--help'), HIDDEN],
    [printed('help'), HIDDEN],
  ] as const) {
    const sections = text.split(/^(?=\S.*:$)/m)
    for (const [section, names] of Object.entries(SECTIONS)) {
      const part = sections.find((each) => each.startsWith(section))
      const shown = part?.match(/^ {2}[a-z-]+/gm)?.map((name) => name.trim())
      expect(shown).toEqual(
        (hidden as readonly string[]).includes(section) ? undefined : Object.keys(names),
      )
    }
  }
})

test('the help of the program lists 24 commands at most, and none of a pod', () => {
  const [commands = ''] = printed('--help').split('\nExamples:')
  const names = commands.match(/^ {2}[a-z][a-z-]*/gm)!
  expect(names.length).toBeLessThanOrEqual(24)
  expect(names.map((name) => name.trim())).toEqual(expect.arrayContaining(['try', 'agents', 'mcp']))
  expect(HIDDEN).toContain('Run inside a pod:')
})

test('the words before those of several commands have a description, by a command or a family', () => {
  const starts = COMMANDS.flatMap(({ name }) => {
    const parts = name.split(' ')
    return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join(' '))
  })
  const names = new Set(COMMANDS.map(({ name }) => name))
  const families = starts.filter((start) => !names.has(start))
  expect(new Set(families)).toEqual(new Set(Object.keys(FAMILIES)))
})

describe('help and version', () => {
  test.each(['--version', '-V', '-v', 'version'])('%s prints the version', (flag) => {
    expect(printed(flag)).toBe('1.2.3\n')
  })

  test.each(['fault', 'load report', 'mcp policy', 'mcp policy init', 'load'])(
    'help %s is %s --help',
    (name) => {
      const asked = name.split(' ')
      expect(printed('help', ...asked)).toBe(printed(...asked, '--help'))
    },
  )

  test('help version prints the version', () => {
    expect(printed('help', 'version')).toBe('1.2.3\n')
  })

  test('help for an unknown command names the nearest', () => {
    expect(() => printed('help', 'loda')).toThrow('did you mean load?')
  })
})
