// part: package
// A start in a clone that is not built, which takes the time of a build. Needs Node and npm alone.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LIMIT = 120_000
/** The files of a clone that the build reads. */
const PARTS = [
  'bin',
  'src',
  'packages',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
]
const run = promisify(execFile)

let clone: string

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), 'squall-clone-'))
  for (const part of PARTS) await cp(join(ROOT, part), join(clone, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
}, LIMIT)

afterAll(() => rm(clone, { recursive: true, force: true }))

test(
  'npx squall works in a clone that is not built, also twice at a time and below its root',
  { timeout: LIMIT },
  async () => {
    const start = (): Promise<{ stdout: string; stderr: string }> =>
      run('npx', ['squall', '--version'], { cwd: clone, timeout: LIMIT })
    const firsts = await Promise.all([start(), start()])
    const { version } = JSON.parse(await readFile(join(clone, 'package.json'), 'utf8')) as {
      version: string
    }
    for (const first of firsts) {
      expect(first.stdout).toBe(`${version}\n`)
      expect(first.stderr).toContain('building')
    }
    const second = await run('npx', ['squall', 'explain', '--help'], { cwd: join(clone, 'src') })
    expect(second.stdout).toContain('Usage: squall explain')
    expect(second.stderr).not.toContain('building')
  },
)
