import { expect, it } from 'vitest'
import { FirstTexts } from '../../../src/filters/lib/first-texts.ts'

const MIB = 1024 * 1024

it('the first text of a key stays, and keys do not meet', () => {
  const first = new FirstTexts(Infinity)
  expect(first.firstOr('a', '1', 0)).toBeUndefined()
  expect(first.firstOr('b', '2', 0)).toBeUndefined()
  expect(first.firstOr('a', '3', 1e12)).toBe('1')
})

it('what is too large is not kept, and the oldest makes room', () => {
  const first = new FirstTexts(Infinity)
  expect(first.firstOr('large', 'x'.repeat(MIB), 0)).toBeUndefined()
  expect(first.firstOr('large', 'y', 0)).toBeUndefined()
  for (let i = 0; i < 9; i++) first.firstOr(`k${i}`, 'x'.repeat(MIB - 10), 0)
  expect(first.firstOr('k8', '', 0)).toHaveLength(MIB - 10)
  expect(first.firstOr('large', 'z', 0)).toBeUndefined()
})

it('no more than a thousand keys are kept', () => {
  const first = new FirstTexts(Infinity)
  for (let i = 0; i <= 1000; i++) first.firstOr(String(i), 'x', 0)
  expect(first.firstOr('1000', 'y', 0)).toBe('x')
  expect(first.firstOr('1', 'y', 0)).toBe('x')
  expect(first.firstOr('0', 'y', 0)).toBeUndefined()
})
