import { describe, expect, it } from 'vitest'
import { StoredResponses } from '../../../src/filters/lib/stored-responses.ts'

describe('kept answers', () => {
  it('are bounded in number: what was not added to for longest goes first', () => {
    const responses = new StoredResponses(0)
    for (let n = 0; n < 1000; n++) responses.add(`k${n}`, 'x', 0)
    responses.add('k0', 'y', 1)
    responses.add('new', 'z', 2)
    expect(responses.older('k1', 2)).toBeUndefined()
    expect([responses.older('k0', 2), responses.older('new', 2)]).toEqual(['y', 'z'])
  })

  it('are bounded in size, each and together', () => {
    const responses = new StoredResponses(0)
    const large = 'x'.repeat(1024 * 1024)
    responses.add('too large', `${large}x`, 0)
    expect(responses.older('too large', 0)).toBeUndefined()
    for (let n = 0; n < 20; n++) responses.add(`k${n}`, large, 0)
    const kept = Array.from({ length: 20 }, (_, n) => responses.older(`k${n}`, 0) !== undefined)
    expect(kept.filter(Boolean)).toHaveLength(7)
    expect(kept.at(-1)).toBe(true)
    for (let n = 0; n < 100; n++) responses.add('one', 'small', n)
    expect(responses.older('k19', 100)).toBe(large)
  })

  it('are few for each key, and yet reach back as far as configured', () => {
    const responses = new StoredResponses(1000)
    const unexpected: number[] = []
    for (let now = 0; now < 100_000; now++) {
      responses.add('k', String(now), now)
      const older = responses.older('k', now)
      const age = now - Number(older)
      if (now < 1000 ? older !== undefined : !(age >= 1000 && age <= 1000 + 64))
        unexpected.push(now)
    }
    expect(unexpected).toEqual([])
  })

  it('outlast a clock that is set back', () => {
    const responses = new StoredResponses(1000)
    responses.add('k', 'late', 1_000_000)
    responses.add('k', 'early', 0)
    expect(responses.older('k', 500)).toBeUndefined()
    expect(responses.older('k', 1000)).toBe('early')
  })
})
