import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { INSTANT_PATTERN, readInstant } from '../../src/base/instant.ts'

describe('a point in time', () => {
  it('is what the platform makes of it', () => {
    const dates = fc.date({
      noInvalidDate: true,
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
    })
    fc.assert(
      fc.property(dates, (date) => {
        expect(readInstant(date.toISOString())).toBe(date.getTime())
        expect(date.toISOString()).toMatch(new RegExp(INSTANT_PATTERN))
      }),
    )
  })

  it('takes the offset off', () => {
    const noon = Date.UTC(2026, 2, 1, 12)
    expect(readInstant('2026-03-01T13:30:00+01:30')).toBe(noon)
    expect(readInstant('2026-03-01t07:00:00-05:00')).toBe(noon)
    expect(readInstant('2026-03-01 12:00:00.250z')).toBe(noon + 250)
  })

  it.each([
    '2026-03-01',
    '2026-03-01T12:00:00',
    '2026-02-29T12:00:00Z',
    '2100-02-29T12:00:00Z',
    '2026-13-01T12:00:00Z',
    '2026-00-01T12:00:00Z',
    '2026-03-00T12:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T12:60:00Z',
    '2026-03-01T12:00:60Z',
    '2026-03-01T12:00:00+24:00',
    ' 2026-03-01T12:00:00Z',
    'now',
    '',
  ])('is not %j', (text) => {
    expect(readInstant(text)).toBeUndefined()
  })

  it('knows leap years', () => {
    expect(readInstant('2024-02-29T00:00:00Z')).toBe(Date.UTC(2024, 1, 29))
    expect(readInstant('2000-02-29T00:00:00Z')).toBe(Date.UTC(2000, 1, 29))
  })
})
