import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-node-version-'))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

test.each(['v0.10.48', 'v18.20.8', 'v20.18.3'])('Node %s is reported as too old', async (found) => {
  const preload = join(directory, 'old-node.cjs')
  await writeFile(
    preload,
    `Object.defineProperty(process, 'version', { value: '${found}' })
     const { Module } = require('module'), load = Module._load
     Module._load = (id, ...rest) => {
       if (/dist|child_process/.test(id)) throw new Error('loaded before the check: ' + id)
       return load(id, ...rest)
     }`,
  )
  const started = run(process.execPath, ['--require', preload, join(ROOT, 'bin/squall.cjs')])
  await expect(started).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: `squall: Node ${found} is too old; install Node 20.19 or newer from https://nodejs.org\n`,
  })
})

test('the check and the start parse as ECMAScript 5', async () => {
  for (const name of ['squall.cjs', 'node-version.cjs']) {
    const text = await readFile(join(ROOT, 'bin', name), 'utf8')
    expect(text.replace(/^\/\/.*$/gm, '')).not.toMatch(
      /\b(const|let|class|async|import)\b|=>|`|\?\.|\?\?/,
    )
  }
})
