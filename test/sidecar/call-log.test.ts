import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()

it('rejects standard output where people read the log there', async () => {
  await expect(startSquall('--call-log', '-', '--log-format', 'pretty')).rejects.toThrow(
    '--call-log -: standard output has the human-readable log; name a file, or add --log-format json',
  )
})

it.each([
  ['a directory', 'dir', 'it is a directory'],
  ['a file in no directory', join('none', 'x'), 'no such file or directory'],
  ['a pipe that nobody reads', 'pipe', 'the pipe has no reader'],
  ['a symbolic link', 'link', 'it is a symbolic link'],
])('ends the start where it is %s', async (_, path, problem) => {
  const dir = await mkdtemp(join(tmpdir(), 'squall-call-log-'))
  opened({ close: () => rm(dir, { recursive: true }) })
  await mkdir(join(dir, 'dir'))
  await symlink('elsewhere', join(dir, 'link'))
  execFileSync('mkfifo', [join(dir, 'pipe')])
  await expect(startSquall('--call-log', join(dir, path))).rejects.toThrow(
    new RegExp(
      `the call log .* cannot be opened: ${problem}; name a file in a directory that this user can write to$`,
    ),
  )
})
