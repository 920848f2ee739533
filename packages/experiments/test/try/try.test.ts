// part: slow
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  FIXTURE_COMMAND,
  isAlive,
  type Program,
  startProgram,
} from '../../../../test/support/commands.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { freePort, startUpstream } from '../../../../test/support/wire.ts'

interface Shown {
  readonly transport: string
  readonly server: string
  readonly tool: string
  readonly arguments: object
  readonly withoutFault: { readonly outcome: string; readonly text: string }
  readonly withFault: { readonly outcome: string; readonly origin: string; readonly text: string }
  readonly page: string
  readonly url: string
  readonly admin: string
  readonly adminTokenFile: string
}

const HTTP_SERVER = [process.execPath, 'examples/server.mjs']

function squallTry(args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  const program = startProgram(['try', ...args], env, { open: true })
  onTestFinished(() => program.kill())
  return program
}

async function shown(program: Program): Promise<Shown> {
  return JSON.parse(await program.firstLine()) as Shown
}

async function callTool(url: string, name: string, args?: object): Promise<Response> {
  const params = { name, arguments: args }
  const message = { jsonrpc: '2.0', id: 'mine', method: 'tools/call', params }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
}

it('a server of stdio gets an address, a page and a fault, and ends with Squall', async () => {
  const program = squallTry(['--json', '--tool', 'pid', '--', ...FIXTURE_COMMAND])
  const { url, page, admin, adminTokenFile, ...seen } = await shown(program)
  expect(seen).toMatchObject({ transport: 'stdio', server: 'fixture 1.0.0', tool: 'pid' })
  expect(seen.withoutFault).toMatchObject({ outcome: 'ok' })
  expect(seen.withFault).toMatchObject({ outcome: 'http', origin: 'injected' })
  expect((await fetch(page)).status).toBe(200)
  const broken = await callTool(url, 'pid')
  expect([broken.status, broken.headers.get('x-squall-fault')]).toEqual([503, 'try/abort'])
  const token = ['--sidecar', admin, '--admin-token-file', adminTokenFile]
  const cleared = await startProgram(['fault', 'clear', ...token], {}, { here: true })
  expect(cleared.stdout).toContain('removed 1')
  const { id, result } = (await (await callTool(url, 'pid')).json()) as {
    id: string
    result: { content: readonly [{ text: string }] }
  }
  expect(id).toBe('mine')
  const pid = Number(result.content[0].text)
  expect(isAlive(pid)).toBe(true)
  program.signal('SIGTERM')
  expect((await program.finished()).code).toBe(0)
  await eventually(() => (isAlive(pid) ? 'the server runs' : undefined))
})

it('prints commands that a shell reads back, for paths and words with spaces', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'squall try '))
  onTestFinished(() => rm(directory, { recursive: true }))
  const program = squallTry(['--', ...FIXTURE_COMMAND, 'two words'], { TMPDIR: directory })
  await eventually(() => (program.stdout().includes('Ctrl-C') ? undefined : 'nothing is shown'))
  program.signal('SIGTERM')
  const { stdout } = await program.finished()
  expect(stdout).toContain(` -- ${FIXTURE_COMMAND.join(' ')} 'two words'\n`)
  expect(stdout).toMatch(/ --admin-token-file '[^']+admin-token' --tool /)
})

it('large responses are not kept, whatever separates their lines', async () => {
  const env = { NODE_OPTIONS: '--max-old-space-size=96' }
  const { url } = await shown(squallTry(['--json', '--tool', 'pid', '--', ...FIXTURE_COMMAND], env))
  // Newer versions of Node read a line separator of Unicode as the end of a line.
  const text = `a\u2028b${'x'.repeat(1_000_000)}`
  for (let i = 0; i < 50; i++) {
    const response = await callTool(url, 'echo', { text })
    expect(await response.json()).toMatchObject({ result: { content: [{ text }] } })
  }
})

it('a server that ends with the first call is reported at once', async () => {
  const server = `process.stdin.on('data', (text) => {
    for (const line of String(text).trim().split('\\n')) {
      const { id, method } = JSON.parse(line)
      if (method === 'tools/call') process.exit(3)
      const tools = [{ name: 'work', inputSchema: {}, annotations: { readOnlyHint: true } }]
      const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} } }
      const result = { ...info, serverInfo: { name: 'brief', version: '1' }, tools }
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
  })`
  const program = squallTry(['--json', '--', process.execPath, '-e', server])
  const { code, stdout, stderr } = await program.finished()
  expect(stderr).toContain('squall: the server exited (exit code 3)')
  expect(JSON.parse(stdout)).toHaveProperty('error')
  expect(code).toBe(1)
})

it('a server that prints its address is found there', async () => {
  const program = squallTry(['--json', '--', ...HTTP_SERVER], { PORT: '0' })
  const seen = await shown(program)
  expect(seen).toMatchObject({ transport: 'http', tool: 'search_docs' })
  expect(seen.withoutFault.text).toMatch(/^succeeded after /)
  expect(seen.withFault.text).toMatch(/^failed after .* HTTP status 503 \(injected by Squall\)$/)
  program.signal('SIGHUP')
  expect((await program.finished()).code).toBe(0)
})

it('a server that prints nothing is found at its port, and its end is said', async () => {
  const port = await freePort()
  const server = `process.stdout.write = () => true; await import('./examples/server.mjs'); setTimeout(() => { console.error('out of memory'); process.exit(3) }, 6000)`
  const program = squallTry([
    '--port',
    `${port}`,
    '--',
    process.execPath,
    '--input-type=module',
    '-e',
    server,
  ])
  const { code, stdout, stderr } = await program.finished()
  expect(stdout).toContain(`Starting ${process.execPath}`)
  expect(stdout).toContain('(injected by Squall)')
  expect(stderr).toContain('The last lines of the server:\nout of memory\n')
  expect(stderr).toContain('squall: the server exited (exit code 3)')
  expect(code).toBe(1)
})

it('the end of a server behind the result is no second result', async () => {
  const server = `await import('./examples/server.mjs'); setTimeout(() => process.exit(3), 4000)`
  const args = ['--json', '--', process.execPath, '--input-type=module', '-e', server]
  const { code, stdout, stderr } = await squallTry(args, { PORT: '0' }).finished()
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(JSON.parse(stdout)).toHaveProperty('withFault')
  expect(stderr).toContain('squall: the server exited (exit code 3)')
  expect(code).toBe(1)
})

it('a server whose port is in use is started on another one', async () => {
  const other = await startUpstream('scripted', ['ok'])
  onTestFinished(() => other.close())
  const command = ['--', ...HTTP_SERVER]
  const { code, stderr } = await squallTry(command, { PORT: other.url.port }).finished()
  expect(stderr).toContain(
    'its port is in use: stop the other program or, if the server reads PORT, choose another port with --port',
  )
  expect(code).toBe(1)
  const program = squallTry(['--json', '--port', `${await freePort()}`, ...command])
  expect(await shown(program)).toMatchObject({ transport: 'http', tool: 'search_docs' })
  program.signal('SIGINT')
  expect((await program.finished()).code).toBe(0)
})

it('another server that has the port is not mistaken for a server that starts slowly', async () => {
  const other = await startUpstream('scripted', ['ok'])
  onTestFinished(() => other.close())
  const server = ['--', '/bin/sh', '-c', `sleep 2; exec ${FIXTURE_COMMAND.join(' ')}`]
  const program = squallTry(['--json', '--tool', 'pid', ...server], { PORT: other.url.port })
  expect(await shown(program)).toMatchObject({ transport: 'stdio', server: 'fixture 1.0.0' })
  expect(other.calls).toHaveLength(0)
})

it('a server is found behind a line that it rewrites', async () => {
  const progress = String.raw`printf '\rloading %s %%' $(seq 60); printf '\r'`
  const script = `exec 2>&1; ${progress}; exec ${HTTP_SERVER.join(' ')}`
  const program = squallTry(['--json', '--', '/bin/sh', '-c', script], { PORT: '0' })
  expect(await shown(program)).toMatchObject({ transport: 'http' })
})

it('a server that waits for a port in use is reported with that port', async () => {
  const other = await startUpstream('scripted', ['ok'])
  onTestFinished(() => other.close())
  const { port } = other.url
  const waits = ['--', process.execPath, '-e', 'setInterval(() => {}, 1e6)']
  const program = squallTry(['--timeout', '1s', '--port', port, ...waits])
  const { code, stderr } = await program.finished()
  expect(stderr).toContain(`port ${port} is in use: stop the other program, or choose another port`)
  expect(code).toBe(1)
})

it('a running server is reached at its URL', async () => {
  const tools = [{ name: 'bare', inputSchema: { type: 'object' } }]
  const server = await startUpstream('scripted', ['ok'], tools)
  onTestFinished(() => server.close())
  const program = squallTry(['--json', '--url', server.url.href])
  expect(await shown(program)).toMatchObject({ tool: 'bare', withoutFault: { outcome: 'ok' } })
  program.signal('SIGINT')
  expect((await program.finished()).code).toBe(0)
  expect(server.calls).toHaveLength(1)
})

it('a tool without hints is not called where another tool is read-only, even if that fails', async () => {
  const reading = { name: 'read', inputSchema: {}, annotations: { readOnlyHint: true } }
  const server = await startUpstream(
    'scripted',
    ['tool error'],
    [reading, { name: 'bare', inputSchema: {} }],
  )
  onTestFinished(() => server.close())
  const program = squallTry(['--json', '--url', server.url.href])
  expect(await shown(program)).toMatchObject({ tool: 'read', withoutFault: { outcome: 'tool' } })
  program.signal('SIGINT')
  expect((await program.finished()).code).toBe(0)
  expect(server.calls.map(({ tool }) => tool)).toEqual(['read'])
})

it.each([
  [
    'a server that ends',
    ['--', process.execPath, '-e', 'console.error("no database"); process.exit(3)'],
    'The last lines of the server:\nno database\nsquall: the server exited (exit code 3)',
  ],
  [
    'a server that does not start',
    [
      '--timeout',
      '2s',
      '--',
      process.execPath,
      '-e',
      'for (let n = 1; n <= 25; n++) console.error("try", n); setInterval(() => {}, 1e6)',
    ],
    'The last lines of the server:\ntry 6\n',
  ],
  [
    'a command that does not exist',
    ['--', 'no-such-command'],
    'the server cannot be started: no such file',
  ],
  ['a URL without a server', ['--url', 'http://127.0.0.1:9/mcp'], 'check host and port of --url'],
  ['neither command nor URL', [], 'no server; add its command after --'],
])('%s is reported', async (_, args, text) => {
  const { code, stderr } = await squallTry(args).finished()
  expect(stderr).toContain(text)
  expect(code).toBeGreaterThan(0)
})
