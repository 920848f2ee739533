import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SampleHash } from '../../../src/rules/select/sample-hash.ts'
import { rounds } from '../../support/rounds.ts'

const N = rounds(20_000, 200_000)

/**
 * The largest distance of a count from its mean: five standard deviations, passed once in 1.7
 * million.
 */
function spread(n: number, p: number): number {
  return 5 * Math.sqrt(n * p * (1 - p))
}

/** Chi-square of counts against equal shares, as standard deviations above its mean. */
function excess(counts: ArrayLike<number>, total: number): number {
  const expected = total / counts.length
  let sum = 0
  for (let i = 0; i < counts.length; i++) sum += (counts[i]! - expected) ** 2 / expected
  const freedom = counts.length - 1
  return (sum - freedom) / Math.sqrt(2 * freedom)
}

const hex = '0123456789abcdef'
const kinds: readonly (readonly [string, (i: number) => string])[] = [
  ['ordinals', (i) => String(i)],
  ['ordinals of a replica', (i) => `weather-7f9c5d6b8-x2k4q/${i}`],
  ['session ids', (i) => `5b2c9e1a-${String(i).padStart(8, '0')}-4a7f`],
  [
    'trace ids',
    (i) =>
      String(i * 7919)
        .split('')
        .map((d) => hex[(Number(d) * 7) % 16])
        .join('')
        .padEnd(32, '0'),
  ],
  ['arguments', (i) => `{"page":${i},"query":"squalls"}`],
]

describe('a sample', () => {
  it.each(kinds)('is even over %s', (_, key) => {
    const hash = SampleHash.of('42', 'slow-search')
    const counts = new Uint32Array(1000)
    for (let i = 0; i < N; i++) counts[Math.floor(hash.number(key(i)) * 1000)]!++
    expect(Math.abs(excess(counts, N))).toBeLessThan(5)
  })

  it.each(kinds)('of one of %s shows nothing about the next', (_, key) => {
    const hash = SampleHash.of('42', 'slow-search')
    const pairs = new Uint32Array(32 * 32)
    let last = hash.number(key(0))
    for (let i = 1; i <= N; i++) {
      const next = hash.number(key(i))
      pairs[Math.floor(last * 32) * 32 + Math.floor(next * 32)]!++
      last = next
    }
    expect(Math.abs(excess(pairs, N))).toBeLessThan(5)
  })

  it('for one rule says nothing about another, nor under another seed', () => {
    const one = SampleHash.of('42', 'rule-1')
    for (const other of [
      SampleHash.of('42', 'rule-2'),
      SampleHash.of('43', 'rule-1'),
      SampleHash.of('42', 'rule-1', 'burst'),
    ]) {
      const pairs = new Uint32Array(32 * 32)
      for (let i = 0; i < N; i++) {
        const key = String(i)
        pairs[Math.floor(one.number(key) * 32) * 32 + Math.floor(other.number(key) * 32)]!++
      }
      expect(Math.abs(excess(pairs, N))).toBeLessThan(5)
    }
  })

  it('is even across seeds and names, for one key', () => {
    for (const make of [
      (i: number) => SampleHash.of(String(i), 'r'),
      (i: number) => SampleHash.of('1', `r${i}`),
    ]) {
      const counts = new Uint32Array(100)
      for (let i = 0; i < 20_000; i++) counts[Math.floor(make(i).number('1') * 100)]!++
      expect(Math.abs(excess(counts, 20_000))).toBeLessThan(5)
    }
  })

  it('has all of its 53 bits in use', () => {
    const hash = SampleHash.of('0', '')
    const ones = new Uint32Array(53)
    for (let i = 0; i < 20_000; i++) {
      let rest = hash.number(String(i))
      for (let bit = 0; bit < 53; bit++) {
        rest *= 2
        if (rest >= 1) {
          ones[bit]!++
          rest -= 1
        }
      }
      expect(rest).toBe(0)
    }
    for (const count of ones) expect(Math.abs(count - 10_000)).toBeLessThan(spread(20_000, 0.5))
  })

  it('keeps fields apart', () => {
    const numbers = new Set([
      SampleHash.of('ab', 'c').number('d'),
      SampleHash.of('a', 'bc').number('d'),
      SampleHash.of('a', 'b').number('cd'),
      SampleHash.of('ab').number('cd'),
      SampleHash.of('abc', '').number('d'),
      SampleHash.of('', 'abc').number('d'),
    ])
    expect(numbers.size).toBe(6)
  })

  it('gives a source of numbers that is the samples of 0, 1, 2, …', () => {
    const hash = SampleHash.of('7', 'x', 'fault', '0', 'key')
    const next = hash.numbers()
    expect([next(), next(), next()]).toEqual(['0', '1', '2'].map((n) => hash.number(n)))
  })

  it('is what the documentation says, to the last digit', () => {
    const text = readFileSync(
      new URL('../../../docs/concepts/sampling.md', import.meta.url),
      'utf8',
    )
    const rows = [...text.matchAll(/^\| (\(.*\)) +\| `(0[.0-9e-]*)` +\|$/gm)]
    expect(rows.length).toBeGreaterThanOrEqual(6)
    for (const row of rows) {
      const fields = [...row[1]!.matchAll(/`"(.*?)"`/g)].map((field) => field[1]!)
      expect(SampleHash.of(...fields.slice(0, -1)).number(fields.at(-1)!)).toBe(Number(row[2]))
    }
  })
})
