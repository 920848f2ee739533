// part: package
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProgram } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LIMIT = 120_000
const RULES = `rules:
  - { name: down, match: { tool: down }, faults: [abort: { status: 503 }] }
`
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: { name: server }
spec:
  selector: { matchLabels: { app: server } }
  template:
    metadata: { labels: { app: server } }
    spec:
      containers:
        - { name: server, image: example/server:1, ports: [{ containerPort: 3000 }] }
`

const TYPED = `import { createSquall, InvalidRulesError, type RuleReport } from 'mcp-squall'
await using squall = await createSquall({ upstream: 'http://127.0.0.1:3000/mcp', rules: 'rules: []' })
const results: readonly RuleReport[] = squall.rules()
const tool: string | undefined = squall.faults()[0]?.tool
const lines = new InvalidRulesError([]).problems.map(({ line }) => line.toFixed())
export { lines, results, tool }
`

let directory: string
let tarball: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-package-'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', directory], {
    cwd: ROOT,
  })
  tarball = join(directory, stdout.trim())
  await writeFile(join(directory, 'package.json'), '{ "private": true }')
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', stdout.trim()]
  await run('npm', install, { cwd: directory, timeout: LIMIT })
}, LIMIT)

afterAll(() => rm(directory, { recursive: true, force: true }))

async function squall(...args: readonly string[]): Promise<string> {
  const options = { cwd: directory, timeout: LIMIT, maxBuffer: 1 << 26 }
  return (await run('npx', ['--no-install', 'mcp-squall', ...args], options)).stdout
}

test('an installation has few packages, and no MCP SDK', async () => {
  const installed = await readdir(join(directory, 'node_modules'))
  expect(installed).not.toContain('@modelcontextprotocol')
  expect(installed.length).toBeLessThan(20)
})

test.each([
  ['publint', '--strict'],
  ['attw', '--no-color'],
])('%s finds nothing in the tarball', { timeout: LIMIT }, async (program, flag) => {
  const file = join(ROOT, 'build/system-tools/node_modules/.bin', program)
  await expect(run(file, [tarball, flag])).resolves.toBeDefined()
})

test('the manual page is installed, and groff has no warning', async () => {
  const page = join(directory, 'node_modules/mcp-squall/dist/squall.1')
  expect((await run('groff', ['-man', '-ww', '-z', page])).stderr).toBe('')
  const { stdout, stderr } = await run('man', ['--warnings', '-l', page])
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^SYNOPSIS\n +squall command \[options\]$/m)
})

test('schema, inject and demo work as installed', { timeout: LIMIT }, async () => {
  expect(JSON.parse(await squall('schema'))).toHaveProperty('properties.rules')
  await writeFile(join(directory, 'server.yaml'), DEPLOYMENT)
  const injected = await squall('inject', '-f', 'server.yaml', '--annotation', 'inject=true')
  expect(injected).toMatch(/name: squall\b/)
  expect(await squall('demo')).toContain('Measured here, over real connections')
})

test('run and load work as installed', { timeout: LIMIT }, async () => {
  await writeFile(join(directory, 'rules.yaml'), RULES)
  const app = await startUpstream((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { id, method } = JSON.parse(String(Buffer.concat(chunks))) as Record<string, unknown>
      res.setHeader('content-type', 'application/json')
      if (id === undefined) res.writeHead(202).end()
      else res.end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[String(method)] ?? {} }))
    })
  })
  const main = join(directory, 'node_modules/mcp-squall/dist/cli/main.js')
  const args = ['run', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', 'rules.yaml']
  const how = { program: process.execPath, cwd: directory }
  const sidecar = startProgram([main, ...args, '--upstream', app.url], {}, how)
  try {
    const { address } = await sidecar.logged('listening')
    const target = `http://${address as string}/mcp`
    const result = join(directory, 'result.json')
    const load = [
      'load',
      '--target',
      target,
      '--tools',
      'up,down',
      '--task-count',
      '20',
      '--out',
      result,
    ]
    await squall(...load)
    const { faults } = JSON.parse(await readFile(result, 'utf8')) as { faults: readonly object[] }
    expect(faults).toMatchObject([{ rule: 'down' }])
  } finally {
    await sidecar.kill()
    await app.close()
  }
})

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'server', version: '1' },
  },
  'tools/list': {
    tools: ['up', 'down'].map((name) => ({ name, inputSchema: { type: 'object' } })),
  },
  'tools/call': { content: [{ type: 'text', text: 'ok' }] },
}

test(
  'the library runs a test with faults, and its types are complete',
  { timeout: LIMIT },
  async () => {
    const server = await startUpstream((request, response) => {
      request.resume().on('end', () => {
        response.setHeader('content-type', 'application/json')
        response.end('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')
      })
    })
    try {
      const example = await readFile(join(ROOT, 'examples/tests/retry.test.mjs'))
      await writeFile(join(directory, 'retry.test.mjs'), example)
      const env = { ...process.env, NODE_ENV: 'test', MCP_URL: `${server.url}/mcp` }
      const { stdout } = await run(process.execPath, ['--test', 'retry.test.mjs'], {
        cwd: directory,
        env,
      })
      expect(stdout).toMatch(/^\W*pass 2$/m)
      await writeFile(join(directory, 'types.mts'), TYPED)
      const tsc = join(ROOT, 'node_modules/.bin/tsc')
      const types = join(ROOT, 'node_modules/@types')
      const args = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023']
      await run(
        tsc,
        [
          ...args,
          '--lib',
          'es2023,esnext.disposable',
          '--types',
          'node',
          '--typeRoots',
          types,
          'types.mts',
        ],
        {
          cwd: directory,
        },
      ).catch((error: { readonly stdout: string }) => expect(error.stdout).toBe(''))
    } finally {
      await server.close()
    }
  },
)
