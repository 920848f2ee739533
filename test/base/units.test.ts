import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDuration, readPercent, readSize, roundedDuration } from '../../src/base/units.ts'

describe('a written duration', () => {
  it.each([
    ['300ms', 300],
    ['5s', 5000],
    ['1.5m', 90_000],
    ['1h', 3_600_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
    ['0.001s', 1],
  ])('%s is %i milliseconds', (text, ms) => {
    expect(readDuration(text)).toBe(ms)
  })

  it.each([
    '5',
    '0.0',
    's',
    '5 s',
    '-5s',
    '+5s',
    '5S',
    '5sec',
    '5s5s',
    '1e3s',
    '.5s',
    '5.s',
    '31d',
    '',
    ' 5s',
    '5s\n',
  ])('%j is none', (text) => {
    expect(readDuration(text)).toBeUndefined()
  })
})

describe('a rounded duration', () => {
  it.each([
    [0, '0s'],
    [499, '0s'],
    [1500, '2s'],
    [90_000, '90s'],
    [119_999, '2m'],
    [120_001, '2m'],
    [599_400, '10m'],
    [600_900, '10m'],
    [5_400_000, '90m'],
    [7_199_999, '2h'],
    [86_400_000, '1d'],
    [100_000_000, '28h'],
    [259_200_000, '3d'],
  ])('%i ms are %s', (ms, text) => {
    expect(roundedDuration(ms)).toBe(text)
  })
})

describe('a written size', () => {
  it.each([
    ['512B', 512],
    ['8KiB', 8192],
    ['1MB', 1_000_000],
    ['2GiB', 2_147_483_648],
    ['1kB', 1000],
    ['8', 8],
  ])('%s is %i bytes', (text, bytes) => {
    expect(readSize(text)).toBe(bytes)
  })

  it.each(['8kb', '8K', '1.5KiB', '-1B', '999999999999GiB', ''])('%j is none', (text) => {
    expect(readSize(text)).toBeUndefined()
  })
})

describe('a written percentage', () => {
  it.each([
    ['0%', 0],
    ['12.5%', 12.5],
    ['100%', 100],
    ['5', 5],
  ])('%s is %d', (text, percent) => {
    expect(readPercent(text)).toBe(percent)
  })

  it.each(['100.1%', '%', '-1%', '1e1%', '5 %', ''])('%j is none', (text) => {
    expect(readPercent(text)).toBeUndefined()
  })
})

it('no text makes a number that is not finite', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9.]{0,14}(ms|s|d|GiB|%)$/), (text) => {
      for (const read of [readDuration, readSize, readPercent]) {
        expect(Number.isFinite(read(text) ?? 0)).toBe(true)
      }
    }),
  )
})
