import { describe, expect, it } from 'vitest'
import type { CallFacts } from '../../src/rules/match/call-facts.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { Bench, facts } from './facts.ts'
import { rejected, rule, ruleText } from './rules-text.ts'

const SECOND = 1000

describe('a rule that repeats', () => {
  const repeating = rule('for: 30s\n    repeat: 5m')

  it('acts for a time in each period, and counts the calls between as not yet due', () => {
    const bench = new Bench([repeating])
    const at = (seconds: number): string[] => {
      bench.now = 1_000_000 + seconds * SECOND
      return bench.matched()
    }
    const due = [0, 29.9, 300, 329.9, 3000, 86_400].map((seconds) => at(seconds).length)
    expect(due).toEqual([1, 1, 1, 1, 1, 1])
    const paused = [30, 299.9, 330, 599.9, 86_399].map((seconds) => at(seconds).length)
    expect(paused).toEqual([0, 0, 0, 0, 0])
    const state = bench.states.of(bench.rules[0]!)!
    expect(state.counts).toMatchObject({ matched: 11, sampled: 6, not_yet: 5 })
    bench.now = 1_000_000 + 100 * SECOND
    const [outlook] = explain(bench.ruleSet, facts(), bench.now, bench.states).rules
    expect(outlook).toMatchObject({ result: 'not_yet', until: undefined })
  })

  it('counts from appliedAt, so that all pods act at the same time', () => {
    const anchored = { ...repeating, appliedAt: 1_000_000 - 310 * SECOND }
    const bench = new Bench([anchored])
    expect(bench.matched()).toHaveLength(1)
    bench.now += 20 * SECOND
    expect(bench.matched()).toHaveLength(0)
  })

  it('ends at `until`, and after --max-duration', () => {
    const ends = new Bench([{ ...repeating, until: 1_000_000 + 310 * SECOND }])
    ends.now += 305 * SECOND
    expect(ends.matched()).toHaveLength(1)
    ends.now += 10 * SECOND
    expect(ends.matched()).toHaveLength(0)
    const limited = new Bench([repeating], {}, { maxDuration: 60 * SECOND })
    expect(limited.matched()).toHaveLength(1)
    limited.now += 300 * SECOND
    expect(limited.matched()).toHaveLength(0)
    expect(limited.states.of(limited.rules[0]!)!.counts).toMatchObject({ expired: 1 })
  })
})

describe('an episode', () => {
  const episodic = rule('stickyBy: session\n    episode: { tasks: 2, of: 5 }')
  const inSession = (session: string | undefined): CallFacts => facts({}, { session })

  it('acts on all calls of the first tasks of each group', () => {
    const bench = new Bench([episodic])
    const callStates = bench.callStates(20, (i) => inSession(`s${i}`))
    expect(callStates).toBe('11000110001100011000')
    // Later calls of a known task have the same fate.
    expect(bench.callStates(20, (i) => inSession(`s${19 - i}`))).toBe('00011000110001100011')
    expect(bench.callStates(2, () => inSession('s20'))).toBe('11')
    expect(bench.states.of(bench.rules[0]!)!.counts).toMatchObject({ not_selected: 24 })
  })

  it('takes a call without the key as a task of its own, and samples within the episode', () => {
    expect(new Bench([episodic]).callStates(10, () => inSession(undefined))).toBe('1100011000')
    const half = new Bench([{ ...episodic, percent: 50 }])
    const sampled = Array.from({ length: 1000 }, (_, i) => half.matched(inSession(`s${i}`)).length)
    const hits = sampled.filter((count) => count > 0).length
    // 400 tasks are in episodes; 5 standard deviations of 200.
    expect(Math.abs(hits - 200)).toBeLessThan(50)
    expect(sampled.every((count, i) => count === 0 || i % 5 < 2)).toBe(true)
  })

  it('remembers a bounded number of tasks', () => {
    const bench = new Bench([episodic])
    bench.callStates(10_001, (i) => inSession(`s${i}`))
    // The first task is forgotten, and comes again as number 10,001; the second one is known.
    expect(bench.matched(inSession('s1'))).toHaveLength(1)
    expect(bench.matched(inSession('s0'))).toHaveLength(1)
    expect(bench.callStates(4, (i) => inSession(`new${i}`))).toBe('0001')
  })

  it('is explained without a change', () => {
    const bench = new Bench([episodic])
    const result = (session: string) =>
      explain(bench.ruleSet, inSession(session), bench.now, bench.states).rules[0]!.result
    expect([result('a'), result('b'), result('c')]).toEqual(['sampled', 'sampled', 'sampled'])
    bench.callStates(2, (i) => inSession(`s${i}`))
    expect([result('s0'), result('new')]).toEqual(['sampled', 'not_selected'])
  })
})

it.each([
  ['repeat: 5m', '`repeat` requires `for`, such as `for: 30s`'],
  [
    'for: 5m\n    repeat: 5m',
    '`repeat` must be longer than `for`; otherwise the rule never pauses',
  ],
  [
    'episode: { tasks: 1, of: 5 }',
    'set a `stickyBy` key that identifies a task, such as `stickyBy: trace`',
  ],
  [
    'stickyBy: trace\n    episode: { tasks: 5, of: 5 }',
    '`tasks` must be less than `of`; otherwise every task gets the fault',
  ],
  [
    'stickyBy: trace\n    burst: { rate: 5%, length: 10 }\n    episode: { tasks: 1, of: 5 }',
    '`burst` and `episode` are mutually exclusive',
  ],
])('%s is rejected', (keys, message) => {
  const [problem] = rejected(ruleText(keys))
  expect(problem!.message).toContain(message)
  expect(problem!.line).toBeGreaterThanOrEqual(4)
})
