// part: slow
// A test that fails under a fault says that the error was injected.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { startProgram } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const TOOLS = [{ name: 'search_docs', inputSchema: { type: 'object' } }]

test.each([
  ['node:test', 'retry.test.mjs', ['--test', 'retry.test.mjs'], '3 by the rule down'],
  [
    'vitest',
    'vitest/retry.test.mjs',
    [VITEST, 'run', '--root', 'vitest'],
    '3 errors by the rule down',
  ],
])('a red test of %s says what was injected', { timeout: 60_000 }, async (_, file, args, said) => {
  const server = await startUpstream('scripted', ['ok'], TOOLS)
  onTestFinished(() => server.close())
  // In the project, so that it finds the package.
  const cwd = await mkdtemp(join(ROOT, 'build', 'red-'))
  onTestFinished(() => rm(cwd, { recursive: true }))
  await cp(join(ROOT, 'examples/tests'), cwd, { recursive: true })
  const text = await readFile(join(cwd, file), 'utf8')
  const red = text.replace(
    "await callTool('search_docs', 3), 503",
    "await callTool('search_docs', 3), 200",
  )
  await writeFile(join(cwd, file), red.replace('.toBe(503)', '.toBe(200)'))
  const env = { MCP_URL: server.url.href, NO_COLOR: '1' }
  const { code, stdout, stderr } = await startProgram(args, env, {
    program: process.execPath,
    cwd,
  }).finished()
  expect(code).toBe(1)
  expect(`${stdout}${stderr}`).toContain(said)
})
