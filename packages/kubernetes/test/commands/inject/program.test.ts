import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../../../../../test/support/eventually.ts'
import { startProgram } from '../../../../../test/support/commands.ts'

let directory = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-inject-'))
})

afterEach(() => rm(directory, { recursive: true }))

it('writes everything to a reader that takes its time, more than a pipe holds', async () => {
  const file = join(directory, 'manifest.yaml')
  const manifest = `kind: ConfigMap\ndata:\n  long: ${'x'.repeat(500_000)}\n---\nkind: Pod\nspec: {containers: []}\n`
  await writeFile(file, manifest)
  const program = startProgram(['inject', '-f', file])
  program.child.stdout?.pause()
  await eventually(() =>
    program.stderr().includes('unchanged ') ? undefined : 'it has not said what it did',
  )
  program.child.stdout?.resume()
  expect(await program.ended).toEqual({ code: 0, signal: null })
  expect(program.stderr()).toMatch(/^pod\/\?: unchanged \(not_requested\)/)
  expect(program.stdout()).toBe(manifest)
})
