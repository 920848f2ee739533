// part: package
// A start in a clone that is not built, which takes the time of a build. Needs Node and npm alone.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startProgram } from '../support/commands.ts'
import { freePort, startUpstream } from '../support/wire.ts'

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
const TOOLS = [
  { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
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
  'npx mcp-squall works in a clone that is not built, also twice at a time and below its root',
  { timeout: LIMIT },
  async () => {
    const start = (): Promise<{ stdout: string; stderr: string }> =>
      run('npx', ['squall', '--version'], { cwd: clone, timeout: LIMIT })
    const firsts = await Promise.all([start(), start()])
    const { version } = JSON.parse(await readFile(join(clone, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(firsts.map(({ stdout }) => stdout)).toEqual([`${version}\n`, `${version}\n`])
    // One of them builds, and the other waits for it.
    expect(firsts.map(({ stderr }) => stderr).toSorted()).toEqual([
      'squall: first start in this clone: building (about 10 s)\n',
      'squall: first start in this clone: waiting for the build of another command (about 10 s)\n',
    ])
    const second = await run('npx', ['squall', 'explain', '--help'], { cwd: join(clone, 'src') })
    expect(second.stdout).toContain('Usage: squall explain')
    expect(second.stderr).not.toContain('building')
  },
)

test(
  'a build that was killed is begun again, and a load that starts meanwhile finds the server',
  { timeout: LIMIT },
  async () => {
    await rm(join(clone, 'dist'), { recursive: true })
    await writeFile(join(clone, 'build', 'first-start'), '999999999')
    const [listen, admin] = [await freePort(), await freePort()]
    const server = await startUpstream('scripted', ['ok'], TOOLS)
    onTestFinished(() => server.close())
    const squall = join(clone, 'bin', 'squall.cjs')
    const addresses = ['--listen', `127.0.0.1:${listen}`, '--admin', `127.0.0.1:${admin}`]
    const args = [squall, 'run', '--upstream', server.url.origin, ...addresses]
    const sidecar = startProgram(args, {}, { program: process.execPath })
    onTestFinished(() => sidecar.kill())
    const load = ['load', '--target', `http://127.0.0.1:${listen}/mcp`, '--task-count', '1']
    const { stdout, stderr } = await run(process.execPath, [squall, ...load], { timeout: LIMIT })
    expect(stdout).toContain('look')
    expect(`${stderr}${sidecar.stderr()}`).toMatch(/building/)
  },
)
