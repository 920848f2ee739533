import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileRules } from '../../src/rules/match/compile.ts'
import { parseRules } from '../../src/rules/file/parse.ts'
import { rounds } from '../support/rounds.ts'
import { FILE, mutated } from './mutated-text.ts'

const RUNS = rounds(150, 10_000)
function check(input: string | Uint8Array, lines: number): 'accepted' | 'rejected' {
  const parsed = parseRules(input)
  if (parsed.ok) {
    // An accepted file can be used.
    compileRules(parsed.file)
    return 'accepted'
  }
  const { problems } = parsed
  // One assertion for all of them: ten thousand files have a good many problems.
  const isPlaced = problems.every(
    ({ line, column, message, code }) =>
      code !== 'unreadable' && message !== '' && line >= 1 && line <= lines + 1 && column >= 1,
  )
  if (problems.length === 0 || !isPlaced) expect.fail(JSON.stringify(problems))
  return 'rejected'
}

describe('a damaged file', () => {
  it('is itself in order before it is damaged', () => {
    expect(check(FILE, 100)).toBe('accepted')
  })

  it('is read, or rejected with a position, whatever was done to its text', () => {
    const seen = { accepted: 0, rejected: 0 }
    fc.assert(
      fc.property(mutated, (text) => {
        seen[check(text, text.split('\n').length)]++
      }),
      { numRuns: RUNS },
    )
    // Otherwise the damage is too slight, or too great, to show anything.
    expect(seen.accepted).toBeGreaterThan(RUNS / 40)
    expect(seen.rejected).toBeGreaterThan(RUNS / 2)
  }, 180_000)

  it('is read, or rejected with a position, whatever was done to its bytes', () => {
    const bytes = Buffer.from(FILE)
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(bytes.length), (at, value, end) => {
        const damaged = Buffer.from(bytes.subarray(0, Math.max(end, at + 1)))
        damaged[at] = value
        check(damaged, damaged.toString('latin1').split('\n').length)
      }),
      { numRuns: rounds(50, 1000) },
    )
  })

  it('of any JSON value is read, or rejected with a position', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.boolean(), (json, inRule) => {
        const text = inRule
          ? `{"rules": [{"name": "a", "faults": ${json}, "match": ${json}}]}`
          : json
        check(text, text.split('\n').length)
      }),
      { numRuns: rounds(50, 1000) },
    )
  })
})
