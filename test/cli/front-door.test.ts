import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LIMIT = 120_000
/** The files of a clone that the build reads. */
const PARTS = ['bin', 'src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
const run = promisify(execFile)

let clone: string

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), 'squall-clone-'))
  for (const part of PARTS) await cp(join(ROOT, part), join(clone, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
}, LIMIT)

afterAll(() => rm(clone, { recursive: true, force: true }))

test(
  'npx squall works in a clone that is not built, also below its root',
  { timeout: LIMIT },
  async () => {
    const first = await run('npx', ['squall', '--version'], { cwd: clone, timeout: LIMIT })
    const { version } = JSON.parse(await readFile(join(clone, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(first.stdout).toBe(`${version}\n`)
    expect(first.stderr).toContain('building')
    const second = await run('npx', ['squall', 'explain', '--help'], { cwd: join(clone, 'src') })
    expect(second.stdout).toContain('Usage: squall explain')
    expect(second.stderr).not.toContain('building')
  },
)

test.each(['v0.10.48', 'v18.20.8', 'v20.18.3'])('Node %s is told to be too old', async (found) => {
  const preload = join(clone, 'old-node.cjs')
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
