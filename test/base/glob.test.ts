import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_GLOB_TEXT, matchesGlob } from '../../src/base/glob.ts'
import { rounds } from '../support/rounds.ts'

describe('a glob', () => {
  it('agrees with the expression that it stands for', () => {
    const pattern = fc
      .array(fc.constantFrom('a', 'b', '*', '?', '😀'), { maxLength: 8 })
      .map((parts) => parts.join(''))
    const sample = fc
      .array(fc.constantFrom('a', 'b', 'c', '😀'), { maxLength: 10 })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(pattern, sample, (wild, name) => {
        const source = wild.replaceAll('*', '[^]*').replaceAll('?', '[^]')
        expect(matchesGlob(wild, name)).toBe(new RegExp(`^(?:${source})$`, 'u').test(name))
      }),
      { numRuns: rounds(1000, 5000) },
    )
  })

  it('is not looked for in very long texts where that would take time', () => {
    const long = `a${'x'.repeat(MAX_GLOB_TEXT)}b`
    expect(['*', 'a*', '*b', 'a*b'].every((wild) => matchesGlob(wild, long))).toBe(true)
    expect(['b*', '*a', '*x*', 'a?*'].some((wild) => matchesGlob(wild, long))).toBe(false)
  })

  it('finishes at once on what makes others retry without end', () => {
    const began = performance.now()
    expect(matchesGlob('*a'.repeat(200) + '*b', 'a'.repeat(32_000))).toBe(false)
    expect(matchesGlob('a*b', 'a' + 'x'.repeat(4_000_000) + 'b')).toBe(true)
    expect(performance.now() - began).toBeLessThan(2000)
  })
})
