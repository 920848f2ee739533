import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdAll } from '../../src/rules/match/match-test.ts'
import {
  compileRules,
  compileTemporary,
  ruleSetOf,
  withTemporary,
} from '../../src/rules/match/compile.ts'
import { compileCallMatch } from '../../src/rules/match/match-node.ts'
import { planCall } from '../../src/rules/select/plan.ts'
import { RuleStates } from '../../src/rules/select/rule-states.ts'
import type { MatchSpec } from '../../src/rules/file/match-spec.ts'
import { rounds } from '../support/rounds.ts'
import { Bench, facts, rule } from './facts.ts'

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

/** Returns a rule set that counts how often the index asks its rules for what they reach. */
function counted(matches: readonly MatchSpec[]) {
  const file = { rules: matches.map((each, i) => rule({ match: each }, i)) }
  const asked = { count: 0 }
  const rules = compileRules(file).rules.map((each) => ({
    ...each,
    match: {
      ...each.match,
      reach: (of: string | undefined) => {
        asked.count++
        return each.match.reach(of)
      },
    },
  }))
  return { asked, ruleSet: ruleSetOf(file, rules) }
}

function temporary(matches: readonly MatchSpec[]) {
  return matches.map((each, i) =>
    compileTemporary(rule({ match: each, name: `added-${i}` }), i, '0', {}),
  )
}

describe('the index with temporary rules', () => {
  it('finds them before those of the file, as testing each rule in full does', () => {
    fc.assert(
      fc.property(
        fc.array(match, { maxLength: 8 }),
        fc.array(match, { maxLength: 8 }),
        fc.array(call, { minLength: 1, maxLength: 8 }),
        (added, matches, calls) => {
          const { ruleSet } = counted(matches)
          const both = withTemporary(ruleSet, temporary(added))
          const states = new RuleStates()
          states.adopt(both, 0)
          for (const { headers, ...of } of calls) {
            const asked = facts(of, { headers })
            const found = (each: readonly MatchSpec[], name: string) =>
              each.flatMap((spec, i) =>
                holdAll(compileCallMatch(spec).tests, asked) ? [`${name}-${i}`] : [],
              )
            const plan = planCall(both, asked, states, () => 0)
            const names = plan?.matched.map((each) => each.rule.name) ?? []
            expect(names).toEqual([...found(added, 'added'), ...found(matches, 'rule')])
          }
        },
      ),
      { numRuns: rounds(40, 1000) },
    )
  })

  it('leaves the index of the file as it is, so that no call waits for an added fault', () => {
    const { asked, ruleSet } = counted([{ tool: 'a' }, { method: '*', tool: 'b*' }])
    expect(asked.count).toBeGreaterThan(0)
    asked.count = 0
    withTemporary(ruleSet, temporary([{ tool: 'a' }, { method: '*' }]))
    expect(asked.count).toBe(0)
  })
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
      { numRuns: rounds(40, 1000) },
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
