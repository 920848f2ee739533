import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findVictim, processKilling } from '../../src/experiment/kill.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram } from '../../../../test/support/commands.ts'

let directory: string
let pidFile: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-kill-'))
  pidFile = join(directory, 'server.pid')
})

afterEach(() => rm(directory, { recursive: true }))

const UNSAFE: readonly (readonly [string, string | undefined, string?])[] = [
  ['is not there', undefined],
  ['holds no number', 'all'],
  ['holds the number of init', '1'],
  ['holds zero', '0'],
  ['holds a group', '-5'],
  ['holds two numbers', '12\n13'],
  ['is long', '1'.repeat(40)],
  ['names this very process', String(process.pid)],
  ['names the process that runs this one', String(process.ppid)],
  ['names nobody', String(2 ** 22 + 1)],
]

test.each(UNSAFE)('a pid file that %s', async (_, text) => {
  if (text !== undefined) await writeFile(pidFile, text, { mode: 0o600 })
  await expect(findVictim({ pidFile, command: 'node' })).rejects.toThrow('PID_FILE_UNSAFE')
})

test('rejects a pid file that other users may write, a link, and a process with a reused ID', async () => {
  const program = process.execPath
  const victim = startProgram(['-e', 'setInterval(() => {}, 1000)'], {}, { program })
  const { child } = victim
  const link = join(directory, 'link.pid')
  await symlink(pidFile, link)
  const command = 'setInterval'
  try {
    await writeFile(pidFile, `${child.pid}\n`, { mode: 0o600 })
    await eventually(async () =>
      findVictim({ pidFile, command }).then(
        () => undefined,
        (error: Error) => error.message,
      ),
    )
    await expect(findVictim({ pidFile, command: 'other' })).rejects.toThrow('PID_FILE_UNSAFE')
    await expect(findVictim({ pidFile: link, command })).rejects.toThrow('it is a symbolic link')
    await chmod(pidFile, 0o666)
    await expect(findVictim({ pidFile, command })).rejects.toThrow('writable by other users')
    expect(child.exitCode).toBeNull()
    await chmod(pidFile, 0o600)
    const { signal } = new AbortController()
    const { what } = await processKilling({ pidFile, command }).kill(0, 0, signal)
    expect(what).toBe(`process ${child.pid}`)
    await victim.ended
    expect(child.signalCode).toBe('SIGKILL')
    await expect(findVictim({ pidFile, command })).rejects.toThrow('is not running')
  } finally {
    await victim.kill()
  }
})
