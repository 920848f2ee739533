// part: clients
// The examples of fixtures for Go and Java, as docs/guides/in-tests.md runs them.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../docs/blocks.ts'
import { exampleServer, type ExampleServer } from '../examples/example-server.ts'

const run = promisify(execFile)
const hasJava = await run('javac', ['--version']).then(
  () => true,
  () => false,
)

let server: ExampleServer
let directory: string

beforeAll(async () => {
  server = await exampleServer([])
  directory = await mkdtemp(join(tmpdir(), 'squall-fixtures-'))
})

afterAll(async () => {
  await server.close()
  await rm(directory, { recursive: true, force: true })
})

async function output(program: string, args: readonly string[], cwd: string): Promise<string> {
  const env = {
    ...process.env,
    SQUALL: `${process.execPath} ${ROOT}bin/squall.cjs`,
    MCP_URL: `${server.origin}/mcp`,
    // Within the limit on open files, Squall logs nothing after the addresses.
    SQUALL_MAX_CONNECTIONS: '100',
    SQUALL_MAX_UPSTREAM_CONNECTIONS: '100',
  }
  const { stdout } = await run(program, args, { cwd, env })
  return stdout
}

it('the tests of Go pass, and name the injected faults', async () => {
  const text = await output(
    'go',
    ['test', '-count=1', '-timeout=30s', '-v', '.'],
    `${ROOT}examples/tests/go`,
  )
  expect(text.match(/^--- PASS/gm)).toHaveLength(2)
  expect(text).toContain('squall injected abort (status 503) into search_docs at ')
})

it.skipIf(!hasJava)('the tests of Java pass', async () => {
  const sources = ['Squall.java', 'RetryTest.java']
  await output('javac', ['-d', directory, ...sources], `${ROOT}examples/tests/java`)
  const text = await output('java', ['-cp', directory, 'RetryTest'], directory)
  expect(text.match(/^passed: /gm)).toHaveLength(4)
})
