import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startProgram } from '../support/commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-loaded-'))
afterAll(() => rmSync(directory, { recursive: true }))

const preload = join(directory, 'preload.cjs')
writeFileSync(
  preload,
  `process.on('exit', () => {
    const files = Object.keys(require.cache)
    const bytes = files.reduce((sum, file) => sum + require('node:fs').statSync(file).size, 0)
    process.stderr.write('loaded ' + bytes + '\\n')
  })`,
)

// One in ten more than today. A library that a command needs late, and loads early, is more: undici
// once made each command of a cluster start 100 ms later.
test.each([
  ['pre-stop', 150],
  ['run', 390],
  ['tap', 390],
  ['fault add', 640],
  ['status', 1_600],
  ['mcp', 1_700],
])('squall %s loads at most %i kB before it begins', async (command, kilobytes) => {
  const program = startProgram([...command.split(' '), '--help'], {
    NODE_OPTIONS: `--require ${preload}`,
  })
  const { code, stderr } = await program.finished()
  expect(code).toBe(0)
  const loaded = Number(/^loaded (\d+)$/m.exec(stderr)?.[1])
  expect(loaded).toBeGreaterThan(50_000)
  expect(loaded / 1_000).toBeLessThanOrEqual(kilobytes)
})
