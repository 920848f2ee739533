// part: slow
import { readdirSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { importFaults } from '../../../src/rules/import/import.ts'
import { FORMATS } from '../../../src/rules/import/formats.ts'
import { rounds, someOf } from '../../support/rounds.ts'
import { accepted } from '../rules-text.ts'

const EXAMPLES = new URL('../../../examples/import/', import.meta.url)
const TEXTS = readdirSync(EXAMPLES).map((name) => readFileSync(new URL(name, EXAMPLES), 'utf8'))

/** Words and values that mean something in one of the formats, or in none. */
const PIECES = [
  ...new Set(TEXTS.flatMap((text) => text.match(/[\w:@./-]+/g) ?? [])),
  'null',
  '[]',
  '{}',
  '-1',
  '1e999',
  '.nan',
  '"',
  '*a',
  '&a ',
  '__proto__',
  'constructor',
  '\n',
]

const damaged = fc
  .tuple(
    fc.constantFrom(...TEXTS),
    fc.array(fc.tuple(fc.nat(), fc.nat(12), fc.constantFrom('', ...PIECES)), {
      minLength: 1,
      maxLength: 4,
    }),
  )
  .map(([text, edits]) =>
    edits.reduce((before, [at, length, piece]) => {
      const from = at % before.length
      return `${before.slice(0, from)}${piece}${before.slice(from + length)}`
    }, text),
  )

const RUNS = rounds(75, 5000)

it('a damaged file becomes valid rules, or is rejected with a line', () => {
  let converted = 0
  fc.assert(
    fc.property(damaged, fc.constantFrom(undefined, ...FORMATS), (text, format) => {
      const result = importFaults(text, format)
      const lines = text.split('\n').length
      const isPlaced = ({ line, column }: { line: number; column: number }): boolean =>
        line >= 1 && line <= lines + 1 && column >= 1
      if (result.ok) {
        converted++
        expect(accepted(result.text).rules).toHaveLength(result.rules)
        expect(result.notes.every(isPlaced)).toBe(true)
        return
      }
      expect(result.problems.length).toBeGreaterThan(0)
      expect(result.problems.every(isPlaced), JSON.stringify(result.problems)).toBe(true)
    }),
    { numRuns: RUNS },
  )
  // Otherwise the damage is too great to show anything.
  expect(converted).toBeGreaterThan(RUNS / 20)
})

const many = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join('')

const LONG = [
  [
    'routes that each exclude all routes before',
    `kind: VirtualService\nspec:\n  http:\n${many(2000, (i) => `    - { match: [{ uri: { exact: /${i} } }], fault: { abort: { httpStatus: 500 } } }\n`)}`,
    'too_large',
  ],
  [
    'thousands of headers',
    `'@type': type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault\nabort: { http_status: 500 }\nheaders:\n${many(5000, (i) => `  - { name: h${i}, exact_match: a }\n`)}`,
    'too_many',
  ],
  [
    'unknown fields everywhere',
    `faults:\n${many(20, () => `  - { type: latency, ${many(900, (i) => `x${i}: 1, `)} }\n`)}`,
    undefined,
  ],
] as const

it.each(someOf(LONG, 3))('%s take no longer than rules of that size', (_name, text, code) => {
  const since = performance.now()
  const result = importFaults(text)
  expect(performance.now() - since).toBeLessThan(10_000)
  expect(result.ok ? undefined : result.problems[0]?.code).toBe(code)
})
