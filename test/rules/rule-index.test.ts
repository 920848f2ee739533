import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdAll } from '../../src/rules/match/match-test.ts'
import { compileCallMatch } from '../../src/rules/match/match-node.ts'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import { rounds } from '../support/rounds.ts'
import { Bench, facts } from './facts.ts'

const word = fc.constantFrom('a', 'b', 'ab', 'ba', 'abc')
const glob = fc.constantFrom('a', 'b', 'ab', 'abc', 'a*', '*b', '*', '?', '*b*', 'a?', '*a*b', 'b*')
const text = fc.oneof(
  glob,
  fc.array(glob, { minLength: 1, maxLength: 3 }),
  fc.record({ regex: fc.constantFrom('^a', 'b$', '', 'ab') }),
  fc.record({ not: fc.oneof(glob, fc.array(glob, { maxLength: 2 })) }),
)
const method = fc.constantFrom(
  'tools/call',
  'tools/list',
  'prompts/get',
  'resources/read',
  'ping',
  'x/y',
  '*',
  'tools/*',
)
const plain = fc.record(
  {
    method: fc.oneof(method, fc.array(method, { minLength: 1, maxLength: 2 })),
    tool: text,
    prompt: text,
    headers: fc.dictionary(fc.constantFrom('x', 'y'), fc.oneof(word, fc.record({ prefix: word })), {
      maxKeys: 2,
    }),
  },
  { requiredKeys: [] },
)
const match: fc.Arbitrary<MatchSpec> = fc.oneof(
  { weight: 4, arbitrary: plain },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        method,
        tool: text,
        any: fc.array(plain, { minLength: 1, maxLength: 3 }),
        all: fc.array(plain, { maxLength: 2 }),
        not: plain,
      },
      { requiredKeys: [] },
    ),
  },
)
const call = fc.record({
  method: fc.constantFrom(
    'tools/call',
    'tools/list',
    'prompts/get',
    'resources/read',
    'ping',
    'x/y',
    'u/v',
  ),
  name: fc.option(word, { nil: undefined }),
  headers: fc
    .array(fc.tuple(fc.constantFrom('x', 'X', 'y'), word), { maxLength: 3 })
    .map((pairs) => pairs.flat()),
})

describe('the index', () => {
  it('finds, in file order, what testing each rule in full finds', () => {
    fc.assert(
      fc.property(
        fc.array(match, { maxLength: 25 }),
        fc.array(call, { minLength: 1, maxLength: 8 }),
        (matches, calls) => {
          const bench = new Bench(matches.map((each) => ({ match: each })))
          for (const { headers, ...of } of calls) {
            const asked = facts(of, { headers })
            const expected = matches.flatMap((each, i) =>
              holdAll(compileCallMatch(each).tests, asked) ? [`rule-${i}`] : [],
            )
            expect(bench.matched(asked)).toEqual(expected)
          }
        },
      ),
      { numRuns: rounds(120, 1000) },
    )
  })

  it('finds the one rule of many that wants a value of a header, and finds it once', () => {
    const bench = new Bench(
      Array.from({ length: 100 }, (_, i) => ({ match: { headers: { 'X-Run': `run-${i}` } } })),
    )
    const withRuns = (...values: string[]) =>
      bench.matched(facts({}, { headers: values.flatMap((value) => ['x-RUN', value]) }))
    expect(withRuns('run-7')).toEqual(['rule-7'])
    expect(withRuns('run-7', 'run-7')).toEqual(['rule-7'])
    expect(withRuns('run-9', 'none', 'run-7', 'run-9', 'run-7')).toEqual(['rule-7', 'rule-9'])
    expect(withRuns('none')).toEqual([])
    expect(withRuns()).toEqual([])
  })

  it('keeps working when callers make up more names than it remembers', () => {
    const bench = new Bench([{ match: { tool: 'a*' } }, { match: { tool: '*z' } }])
    for (let i = 0; i < 3000; i++) {
      expect(bench.matched(facts({ name: `a${i}z` })).length).toBe(2)
      expect(bench.matched(facts({ name: `b${i}` })).length).toBe(0)
    }
    expect(bench.matched(facts({ name: `a${'x'.repeat(100_000)}z` })).length).toBe(2)
  })
})
