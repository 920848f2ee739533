// part: slow
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startProgram } from '../support/commands.ts'

const RULE = 'match: { tool: b }, faults: [delay: { fixed: 1ms }]'

it('squall run reads rules that have a thread of their own', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'squall-start-'))
  const rules = join(directory, 'many.yaml')
  const many = Array.from({ length: 300 }, (_, n) => `{ name: a${n}, ${RULE} }`)
  await writeFile(rules, `rules: [${many.join(', ')}]\n`)
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', rules]
  const program = startProgram(['run', ...places])
  expect(await program.logged('active rules')).toMatchObject({ rules: 300 })
  program.signal('SIGTERM')
  await program.ended
  expect(program.stderr()).toBe('')
  await rm(directory, { recursive: true, force: true })
})
