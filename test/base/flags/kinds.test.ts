import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationText, sizeText } from '../../../src/base/units.ts'
import { oneOf, parseCount, parseDuration, parseSize } from '../../../src/base/flags/kinds.ts'

const WIDE = { min: 0, max: Number.MAX_SAFE_INTEGER }

describe('durations', () => {
  it.each([
    ['300ms', 300],
    ['0s', 0],
    ['5s', 5_000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1.5s', 1500],
    ['2d', 172_800_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration({ text, source: '--x' }, WIDE)).toBe(ms)
  })

  it.each(['', '5', '-5s', '5 s', '5S', '1.0005s', 's', '5sm', '1e3s', ' 5s', '5s\n', '٥s'])(
    '%j is refused',
    (text) => {
      expect(() => parseDuration({ text, source: '--x' }, WIDE)).toThrow(
        / is not a valid duration; use a number with a unit, such as 300ms, 1.5s, 10m, 1h or 2d$/,
      )
    },
  )

  it('names the source, the value and the range', () => {
    expect(() =>
      parseDuration({ text: '2h', source: 'SQUALL_X' }, { min: 1, max: 3_600_000 }),
    ).toThrow('SQUALL_X: "2h" is out of range; use 1ms to 1h')
  })

  it('read back what they print', () => {
    fc.assert(
      fc.property(fc.nat(), (ms) => {
        expect(parseDuration({ text: durationText(ms), source: '--x' }, WIDE)).toBe(ms)
      }),
    )
  })
})

describe('sizes', () => {
  it.each([
    ['0', 0],
    ['1024', 1024],
    ['64KiB', 65_536],
    ['4MiB', 4_194_304],
    ['4MB', 4_000_000],
    ['512B', 512],
    ['1GiB', 1_073_741_824],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseSize({ text, source: '--x' }, WIDE)).toBe(bytes)
  })

  it.each(['', '64KB', '64k', '4mib', '-1', '1.5MiB', '0x10', '1 KiB', '9999999999999999'])(
    '%j is refused',
    (text) => {
      expect(() => parseSize({ text, source: '--x' }, WIDE)).toThrow(
        / is not a valid size; use a number/,
      )
    },
  )

  it('read back what they print', () => {
    fc.assert(
      fc.property(fc.nat(), (bytes) => {
        expect(parseSize({ text: sizeText(bytes), source: '--x' }, WIDE)).toBe(bytes)
      }),
    )
  })
})

describe('counts and words', () => {
  it('take plain digits within the range', () => {
    expect(parseCount({ text: '10000', source: '--x' }, { min: 1, max: 10_000 })).toBe(10_000)
    expect(() => parseCount({ text: '10001', source: '--x' }, { min: 1, max: 10_000 })).toThrow(
      '--x: "10001" is out of range; use 1 to 10000',
    )
    expect(() => parseCount({ text: '1KiB', source: '--x' }, WIDE)).toThrow(
      '--x: "1KiB" is not a valid integer',
    )
  })

  it('take one of the known words', () => {
    expect(oneOf(['json', 'pretty'])({ text: 'json', source: '--x' })).toBe('json')
    expect(() => oneOf(['json', 'pretty'])({ text: 'JSON', source: '--x' })).toThrow(
      '--x: "JSON" is not supported; use one of json, pretty',
    )
  })
})
