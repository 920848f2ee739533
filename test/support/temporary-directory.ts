import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const PREFIX = 'squall-tests-'

/**
 * Gives the tests of a run one temporary directory, and removes it with what they left in it. In a
 * directory of their own they are also not woken by what other programs do in the shared one.
 */
export default function setup(): (() => void) | undefined {
  // Each project of a configuration calls this once more.
  if (basename(tmpdir()).startsWith(PREFIX)) return undefined
  const directory = mkdtempSync(join(tmpdir(), PREFIX))
  // Programs of other users find their files in it, as in the shared one.
  chmodSync(directory, 0o1777)
  process.env['TMPDIR'] = directory
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}
