import { expect, test } from 'vitest'
import { asInvoked } from '../../src/base/program.ts'

test('a command of Squall is found in a text, and its quoted values are kept', () => {
  const flags = String.raw`--context 'my squall dev' --as 'squall o'\''neil squall b'`
  expect(asInvoked(`the sidecar's log: squall status ${flags}; squall stop`)).toBe(
    `the sidecar's log: npx mcp-squall status ${flags}; npx mcp-squall stop`,
  )
})
