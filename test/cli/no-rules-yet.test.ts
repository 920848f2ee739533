// part: slow
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProgram } from '../support/commands.ts'

test('a rules file that is not there yet does not end the program before it listens', async () => {
  const rules = join(tmpdir(), `squall-none-${process.pid}`, 'rules.yaml')
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const program = startProgram(['run', ...places, '--rules', rules])
  try {
    await program.logged('admin listening')
    program.signal('SIGTERM')
    expect(await program.ended).toEqual({ code: 0, signal: null })
  } finally {
    await program.kill()
  }
})
