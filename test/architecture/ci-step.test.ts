import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { countTests, runCommand } from '../../scripts/ci/step.mjs'

let directory: string
let log: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'squall-ci-'))
  log = join(directory, 'step.log')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const sh = (script: string, milliseconds = 30_000) =>
  runCommand(['sh', '-c', script], { env: { WORD: 'a word' }, milliseconds, log })

describe('a command of .ci/run', () => {
  it('reports its exit code and keeps its output', async () => {
    expect(await sh('echo "$WORD"; echo wrong >&2; exit 3')).toBe(3)
    expect(readFileSync(log, 'utf8')).toBe('a word\nwrong\n')
  })

  it('that cannot be started has failed', async () => {
    const code = await runCommand([join(directory, 'none')], { milliseconds: 30_000, log })
    expect(code).toBe(127)
    expect(readFileSync(log, 'utf8')).toContain('ENOENT')
  })

  it('that runs out of time has no exit code, and what it started ends with it', async () => {
    expect(await sh('sleep 600 & echo $!; wait', 500)).toBeUndefined()
    const child = Number(readFileSync(log, 'utf8'))
    // Ended, or not yet reaped.
    await expect.poll(() => stateOf(child)).toMatch(/^(gone|Z)$/)
  })
})

function stateOf(pid: number): string {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? 'gone'
  } catch {
    return 'gone'
  }
}

it.each([
  ['      Tests  24 passed (24)\n', { passed: 24, failed: 0, skipped: 0 }],
  [
    '      Tests  1 failed | 321 passed | 2 skipped (324)\n',
    { passed: 321, failed: 1, skipped: 2 },
  ],
  [
    '\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m7 passed\u001b[39m\n',
    { passed: 7, failed: 0, skipped: 0 },
  ],
  ['Test Files  3 passed (3)\n', { passed: 0, failed: 0, skipped: 0 }],
])('the tests of %j are counted', (text, counts) => {
  writeFileSync(log, text)
  expect(countTests(log)).toEqual(counts)
})
