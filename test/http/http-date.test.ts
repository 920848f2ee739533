import { expect, it } from 'vitest'
import { clockAhead } from '../../src/http/http-date.ts'

const sentAt = 100_000

it.each([
  ['a clock that is right', 100_000, 100_010, 0, 0],
  ['a header of whole seconds', 99_000, 100_010, 0, 0],
  ['a response that takes ten seconds', 100_000, 110_000, 0, 0],
  ['a clock that is ahead', 160_000, 100_010, 0, 59_990],
  ['a clock that is behind', 40_000, 100_010, 0, -58_000],
  ['a slow response of a clock that is known to be behind', 95_000, 110_000, -4_000, -4_000],
  ['a clock that was set right', 100_000, 100_010, -58_000, -10],
])('%s', (_, date, receivedAt, before, ahead) => {
  expect(clockAhead(date, { sentAt, receivedAt }, before)).toBe(ahead)
})
