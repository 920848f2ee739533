import { execFileSync } from 'node:child_process'
import { constants, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUpstream } from '../support/wire.ts'
import { readBounded } from '../../src/base/files.ts'

let dir = ''
const at = (name: string): string => join(dir, name)

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'squall-read-'))
  execFileSync('mkfifo', [at('pipe')])
})
afterAll(() => rm(dir, { recursive: true }))

it('reads a file, and no more of it than shows that it is too large', async () => {
  await writeFile(at('file'), 'x'.repeat(300_000))
  expect(await readBounded(at('file'), 300_000)).toHaveLength(300_000)
  expect((await readBounded(at('file'), 10)).length).toBeGreaterThan(10)
  expect((await readBounded('/dev/zero', 1000)).length).toBeLessThan(200_000)
})

it('refuses a pipe that nobody writes to, where it would have waited for good', async () => {
  await expect(readBounded(at('pipe'), 10)).rejects.toThrow('the pipe has no writer')
})

it('reads a pipe to its end, as shells pass one instead of a file', async () => {
  const writer = await open(at('pipe'), 'r+')
  await writer.write('one\n')
  // An open reader keeps the bytes in the pipe after the writer has gone.
  const kept = await open(at('pipe'), constants.O_RDONLY | constants.O_NONBLOCK)
  const read = readBounded(at('pipe'), 1000)
  await writer.write('two\n')
  await writer.close()
  expect(Buffer.from(await read).toString()).toBe('one\ntwo\n')
  await kept.close()
})

it('refuses what is no file', async () => {
  await expect(readBounded(dir, 10)).rejects.toThrow('it is a directory')
  const server = await startUpstream(createServer(), { path: at('socket') })
  await expect(readBounded(at('socket'), 10)).rejects.toThrow('not a regular file')
  await server.close()
})
