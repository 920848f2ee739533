import { expect, test } from 'vitest'
import { alignedLines, wrapped } from '../../../src/base/text/lines.ts'

test('aligns more rows than a function takes arguments', () => {
  const rows = Array.from({ length: 300_000 }, (_, i) => [String(i), 'x'])
  const lines = alignedLines(rows, (column) => column === 0)
  expect(lines[0]).toBe('     0  x')
  expect(lines.at(-1)).toBe('299999  x')
})

test('ends a text for which there is no room', () => {
  expect(wrapped('no room', -2)).toEqual(['n', 'o', 'r', 'o', 'o', 'm'])
})
