import { appendFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { startProgram } from '../../../../test/support/commands.ts'
import { CALL, RESULT } from './large.ts'
import { written } from './recorded.ts'

async function shown(path: string) {
  const { code, stdout, stderr } = await startProgram(['tape', 'show', path], {}, { here: true })
  return { code, stdout, stderr }
}

it('shows arguments that are nested deeply, and skips such an id', async () => {
  const params = { name: 'echo', arguments: {} }
  const path = await written([
    { ...CALL, params },
    { ...RESULT, result: {} },
  ])
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const line = JSON.stringify({ ...CALL, exchange: 2, id: 2, params: { name: 'deep' } })
  await appendFile(path, `${line.replace('"deep"', `"deep","arguments":${deep}`)}\n`)
  await appendFile(path, `${line.replace('"id":2', `"id":${deep}`)}\n`)
  const { code, stdout, stderr } = await shown(path)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('[[[[[[[[')
  expect(stdout).toContain('1 line could not be read: line 5, id must be a string')
})
