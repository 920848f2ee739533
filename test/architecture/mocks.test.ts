import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { testSources } from './source-files.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

interface Rule {
  readonly what: string
  readonly say: string
  readonly not: RegExp
  readonly examples: readonly [string, ...string[]]
  /** The files that may, each with the reason. */
  readonly unless: Readonly<Record<string, string>>
}

const RULES: readonly Rule[] = [
  {
    what: 'mocks, fakes or spies',
    say: 'use the real part, and wait for an event',
    not: /\bvi\s*\.\s*(?:use(?:Fake|Real)Timers|setSystemTime|advanceTimers\w*|(?:do)?mock|hoisted|fn|spyOn|stubGlobal)\b/,
    examples: [
      ['vi', 'useFakeTimers()'].join('.'),
      ['vi', 'mock("node:net")'].join('.'),
      ['vi', 'fn()'].join('.'),
      ['vi', 'spyOn(process, "exit")'].join('.'),
    ],
    unless: {
      'test/faults/parses.test.ts': 'counts the calls of JSON.parse, which parses as ever',
      'test/support/commands/here.ts':
        'keeps what a command in this process prints to standard output',
    },
  },
  {
    what: 'casts of rules or responses',
    say: 'write rules as YAML, and use a real server',
    not: /\bas never\b|\bas unknown as (?:readonly )?(?:RuleSpec|ServerResponse|IncomingMessage)\b/,
    examples: [['{} as', 'never'].join(' '), ['{}', 'as unknown', 'as RuleSpec'].join(' ')],
    unless: {},
  },
]

const texts = (await testSources())
  .filter((path) => path.endsWith('.ts'))
  .map((path) => [path, readFileSync(ROOT + path, 'utf8')] as const)

it.each(RULES)('tests have no $what', ({ say, not, examples, unless }) => {
  for (const example of examples) expect(example).toMatch(not)
  const found = texts.filter(([, text]) => not.test(text)).map(([path]) => path)
  expect(found.toSorted(), say).toEqual(Object.keys(unless).toSorted())
})
