import { mkdir, readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { rawTrouble, systemReason } from '../../src/base/system-reason.ts'

/** The error of a call of the system. */
async function errorOf(act: () => Promise<unknown>): Promise<unknown> {
  return act().then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
}

test.each([
  ['a missing file', () => readFile('/nowhere/x'), 'no such file or directory'],
  ['a directory', () => readFile('/etc'), 'it is a directory'],
  ['a path through a file', () => readdir('package.json/x'), 'is not a directory'],
  ['a file in the place of a directory', () => mkdir('package.json'), 'the file already exists'],
])('%s has a reason in words', async (_, act, reason) => {
  const error = await errorOf(act)
  expect(systemReason(error)).toContain(reason)
  expect(systemReason(error)).not.toMatch(/E[A-Z]{4}/)
})

test('an error that no command expects names its path and what to do', async () => {
  expect(rawTrouble(await errorOf(() => readFile('/nowhere/x')))).toMatch(
    /^"\/nowhere\/x" cannot be used: no such file or directory; check the path/,
  )
  expect(rawTrouble(new Error('no reason of the system'))).toBeUndefined()
})
