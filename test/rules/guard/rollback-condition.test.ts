import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  MAX_CONDITIONS,
  parseRollbackCondition,
  rollbackConditionsProblem,
} from '../../../src/rules/guard/rollback-condition.ts'

describe('a condition of --rollback-on', () => {
  it.each([
    ['real-errors>1% for 30s', { figure: 'real_errors', percent: 1 }, 30_000],
    ['real-errors>0% for 100ms', { figure: 'real_errors', percent: 0 }, 100],
    ['real-errors > 2.5%  for 1m', { figure: 'real_errors', percent: 2.5 }, 60_000],
    ['upstream-p99>800ms for 30s', { figure: 'upstream_latency', percent: 1, ms: 800 }, 30_000],
    ['upstream-p95>1.5s for 30s', { figure: 'upstream_latency', percent: 5, ms: 1500 }, 30_000],
    ['upstream-p50>1m for 1h', { figure: 'upstream_latency', percent: 50, ms: 60_000 }, 3_600_000],
    ['calls>3x for 10s', { figure: 'call_rate', factor: 3 }, 10_000],
    ['calls>1.5x for 10s', { figure: 'call_rate', factor: 1.5 }, 10_000],
    ['not-ready for 10s', { figure: 'not_ready' }, 10_000],
  ])('is read from %j', (text, test, lasting) => {
    expect(parseRollbackCondition(` ${text} `)).toEqual({ text, test, lasting })
  })

  it.each([
    ['real-errors>1%', 'write "real-errors>1% for 30s"'],
    ['real-errors>1 for 30s', 'write "real-errors>1% for 30s"'],
    ['real-errors>100% for 30s', 'write "real-errors>1% for 30s"'],
    ['real-errors<1% for 30s', 'write "real-errors>1% for 30s"'],
    ['real-errors for 30s', 'write "real-errors>1% for 30s"'],
    ['real-errors>1% for 30', 'write "real-errors>1% for 30s"'],
    ['real-errors>1% for 30s or so', 'write "real-errors>1% for 30s"'],
    ['real-error>1% for 30s', 'did you mean real-errors? write "real-errors>1% for 30s"'],
    ['upstream-p99>800 for 30s', 'write "upstream-p99>800ms for 30s"'],
    ['upstream-p95>0s for 30s', 'write "upstream-p95>800ms for 30s"'],
    ['upstream-p99>2h for 30s', 'write "upstream-p99>800ms for 30s"'],
    ['calls>1x for 10s', 'write "calls>3x for 10s"'],
    ['calls>5000x for 10s', 'write "calls>3x for 10s"'],
    ['calls>3 for 10s', 'write "calls>3x for 10s"'],
    ['calls>300% for 10s', 'write "calls>3x for 10s"'],
    ['not-ready>1x for 10s', 'write "not-ready for 10s"'],
    ['not-ready for 10ms', 'use a time of 100ms to 1h: write "not-ready for 10s"'],
    ['not-ready for 2h', 'use a time of 100ms to 1h: write "not-ready for 10s"'],
    ['constructor>1% for 30s', 'write "real-errors>1% for 30s", "upstream-p99>800ms for 30s", '],
    ['', '"calls>3x for 10s" or "not-ready for 10s"'],
  ])('is rejected as %j, with the right form', (text, fix) => {
    expect(parseRollbackCondition(text)).toContain(fix)
  })

  it('is read or corrected in one line, whatever was written', () => {
    const parts = fc.array(
      fc.constantFrom('real-errors', 'calls', '>', '1%', '3x', ' for ', '9', 's', 'ms', ',', '\n'),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          parts.map((all) => all.join('')),
          fc.string(),
        ),
        (text) => {
          const read = parseRollbackCondition(text)
          if (typeof read === 'string') expect(read).toMatch(/^[^\n]*write "[^\n]+$/)
          else expect(parseRollbackCondition(read.text)).toEqual(read)
        },
      ),
    )
  })

  it('stands in a list with commas, which is bounded', () => {
    const list = (size: number) =>
      Array.from({ length: size }, () => 'not-ready for 10s').join(', ')
    expect(rollbackConditionsProblem(list(MAX_CONDITIONS))).toBeUndefined()
    expect(rollbackConditionsProblem(list(MAX_CONDITIONS + 1))).toBe('write at most 16 conditions')
    expect(rollbackConditionsProblem('not-ready for 10s, calls>3')).toBe('write "calls>3x for 10s"')
    expect(rollbackConditionsProblem('not-ready for 10s,')).toContain('write "real-errors>1% for')
  })
})
