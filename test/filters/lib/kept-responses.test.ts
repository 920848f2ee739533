import { describe, expect, it } from 'vitest'
import { KeptAnswers } from '../../../src/filters/lib/kept-responses.ts'

describe('kept answers', () => {
  it('are bounded in number: what was not added to for longest goes first', () => {
    const answers = new KeptAnswers(0)
    for (let n = 0; n < 1000; n++) answers.add(`k${n}`, 'x', 0)
    answers.add('k0', 'y', 1)
    answers.add('new', 'z', 2)
    expect(answers.older('k1', 2)).toBeUndefined()
    expect([answers.older('k0', 2), answers.older('new', 2)]).toEqual(['y', 'z'])
  })

  it('are bounded in size, each and together', () => {
    const answers = new KeptAnswers(0)
    const large = 'x'.repeat(1024 * 1024)
    answers.add('too large', `${large}x`, 0)
    expect(answers.older('too large', 0)).toBeUndefined()
    for (let n = 0; n < 20; n++) answers.add(`k${n}`, large, 0)
    const kept = Array.from({ length: 20 }, (_, n) => answers.older(`k${n}`, 0) !== undefined)
    expect(kept.filter(Boolean)).toHaveLength(7)
    expect(kept.at(-1)).toBe(true)
    for (let n = 0; n < 100; n++) answers.add('one', 'small', n)
    expect(answers.older('k19', 100)).toBe(large)
  })

  it('are few for each key, and yet reach back as far as is asked for', () => {
    const answers = new KeptAnswers(1000)
    for (let now = 0; now < 100_000; now++) {
      answers.add('k', String(now), now)
      const older = answers.older('k', now)
      if (now < 1000) expect(older).toBeUndefined()
      else {
        expect(now - Number(older)).toBeGreaterThanOrEqual(1000)
        expect(now - Number(older)).toBeLessThanOrEqual(1000 + 64)
      }
    }
  })

  it('outlast a clock that is set back', () => {
    const answers = new KeptAnswers(1000)
    answers.add('k', 'late', 1_000_000)
    answers.add('k', 'early', 0)
    expect(answers.older('k', 500)).toBeUndefined()
    expect(answers.older('k', 1000)).toBe('early')
  })
})
