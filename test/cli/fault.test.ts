import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { call, callMessage, type HttpApp, responding, startUpstream } from '../support/wire.ts'
import { type Squall, startProgram, startSquall } from '../support/commands.ts'

const SQUALL_ADMIN_TOKEN = 'a-token-of-the-admin-port-of-tests'

let squall: Squall
let address: string
let directory: string
let upstream: HttpApp

beforeAll(async () => {
  upstream = await startUpstream(responding('fine'))
  squall = await startSquall({ flags: ['--upstream', upstream.url], env: { SQUALL_ADMIN_TOKEN } })
  address = new URL(squall.admin).host
  directory = await mkdtemp(join(tmpdir(), 'squall-fault-'))
  await writeFile(join(directory, 'token'), SQUALL_ADMIN_TOKEN, { mode: 0o600 })
})

afterAll(async () => {
  await squall.close()
  await upstream.close()
  await rm(directory, { recursive: true })
})

afterEach(() => fault('clear'))

/** Runs `squall fault` against the sidecar. */
async function fault(...args: readonly string[]) {
  const token = ['--admin-token-file', join(directory, 'token')]
  const program = ['fault', ...args, '--sidecar', address, ...token]
  const { code, stdout, stderr } = await startProgram(program, {}, { here: true })
  return { code, stdout: stdout.replaceAll(`${address}: `, ''), stderr }
}

async function statusOf(tool: string, headers: Readonly<Record<string, string>> = {}) {
  const place = { port: squall.port, host: '127.0.0.1', headers }
  return (await call(place, callMessage(1, tool))).status
}

it('adds, lists and removes faults of a sidecar that has no rules file', async () => {
  const added = await fault('add', '--tool', 'search', '--abort', '503', '--for', '10m')
  expect(added).toMatchObject({ code: 0, stderr: '' })
  expect(added.stdout).toMatch(
    /^added added-1, ends in 10m: match: .*tool: \[search\].*abort: \{ status: 503 \}/,
  )
  expect([await statusOf('search'), await statusOf('other')]).toEqual([503, 200])
  const mine = ['--header', 'x-team=b', '--name', 'mine', '--percent', '100', '--for', '5m']
  expect(await fault('add', ...mine, '--fault', 'abort: { status: 418 }')).toMatchObject({
    code: 0,
  })
  expect(await statusOf('other', { 'x-team': 'b' })).toBe(418)
  const { stdout } = await fault('list')
  expect(stdout).toMatch(/^added-1, .*; matched 1, injected 1\nmine, .*; matched 1, injected 1\n$/)
  expect(await fault('remove', 'added-1')).toMatchObject({ code: 0, stdout: 'removed added-1\n' })
  expect(await statusOf('search')).toBe(200)
  expect(await fault('remove', 'added-1')).toMatchObject({ code: 1 })
  expect(await fault('clear')).toMatchObject({ code: 0, stdout: 'removed 1\n' })
  expect((await fault('list')).stdout).toBe('no temporary faults\n')
  const empty = { sidecars: [{ address, ok: true, count: 0, faults: [] }] }
  expect(JSON.parse((await fault('list', '--json')).stdout)).toEqual(empty)
})

it('adds the headers of --header to those of --rule', async () => {
  const rule =
    '{ match: { headers: { x-team: b, X-User: "1" } }, faults: [abort: { status: 418 }] }'
  const added = await fault(
    'add',
    '--rule',
    rule,
    '--header',
    'x-user=2',
    '--header',
    'x-b=3',
    '--for',
    '1m',
  )
  expect(added).toMatchObject({ code: 0 })
  expect(await statusOf('search', { 'x-user': '2', 'x-b': '3' })).toBe(200)
  expect(await statusOf('search', { 'x-team': 'b', 'x-user': '2', 'x-b': '3' })).toBe(418)
})

it('says when a fault ends, to the second, also late in a second', async () => {
  // The command reads the time of the sidecar in whole seconds.
  await setTimeout(1_000 - ((Date.now() + 250) % 1_000))
  const added = await fault('add', '--tool', 'search', '--abort', '503', '--for', '30s')
  expect(added.stdout).toMatch(/^added added-1, ends in 30s: /)
})

it('prints the errors of the rules checker', async () => {
  const rule = '{ match: { tol: search }, faults: [delay: { fixd: 2s }] }'
  const { code, stdout } = await fault('add', '--rule', rule, '--for', '30s')
  expect(code).toBe(1)
  expect(stdout).toMatch(/match\.tol: .*did you mean `tool`/)
  expect(stdout).toMatch(/faults\[0\]\.delay\.fixd: .*did you mean `fixed`/)
})

it.each<[string, readonly string[], RegExp]>([
  ['an end', ['add', '--delay', '2s'], /--for is missing/],
  ['a fault', ['add', '--for', '2s'], /no fault; use --delay 2s/],
  ['a readable fault', ['add', '--for', '2s', '--fault', '[a'], /"\[a" cannot be read/],
  [
    'a list of faults',
    ['add', '--for', '2s', '--delay', '1s', '--rule', '{ faults: reset }'],
    /not a list/,
  ],
  [
    'a match',
    ['add', '--for', '2s', '--tool', 'a', '--rule', '{ match: [], faults: [reset] }'],
    /not an object/,
  ],
  ['a fault, not a number', ['add', '--for', '2s', '--fault', '7'], /is not a valid fault/],
  ['an integer', ['add', '--for', '2s', '--rpc-error', 'x'], /is not a valid code/],
  [
    'each header once',
    ['add', '--for', '2s', '--fault', 'reset', '--header', 'x-a=1', '--header', 'x-a=2'],
    /--header: "x-a" is set twice; set each key once/,
  ],
  ['a name', ['remove'], /no name; squall fault list/],
])('needs %s', async (_, args, error) => {
  expect(await fault(...args)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(error) as unknown,
  })
})

it('needs the token to change something, and to read none', async () => {
  const run = (...args: readonly string[]) =>
    startProgram(['fault', ...args, '--sidecar', address], {}, { here: true })
  expect(await run('clear')).toMatchObject({ code: 2 })
  expect(await run('list')).toMatchObject({ code: 0, stdout: `${address}: no temporary faults\n` })
})

it('names the option that a sidecar without rules and without a token lacks', async () => {
  const closed = await startSquall({ flags: ['--upstream', upstream.url] })
  try {
    const to = ['--sidecar', new URL(closed.admin).host, '--admin-token-file']
    const args = ['fault', 'add', '--fault', 'hang', '--for', '1m', ...to, join(directory, 'token')]
    const { code, stdout } = await startProgram(args, {}, { here: true })
    expect(code).toBe(1)
    expect(stdout).toContain(
      'does not accept temporary faults: start the sidecar with --admin-token-file',
    )
  } finally {
    await closed.close()
  }
})

it('tells the port of clients from an admin port, behind which the server knows no such path', async () => {
  const server = await startUpstream((_, response) => void response.writeHead(404).end('{}'))
  const clients = await startSquall({ flags: ['--upstream', server.url] })
  try {
    const to = ['--sidecar', `127.0.0.1:${clients.port}`, '--admin-token-file']
    for (const args of [
      ['fault', 'add', '--fault', 'hang', '--for', '1m'],
      ['fault', 'list'],
      ['stop'],
    ]) {
      const command = [...args, ...to, join(directory, 'token')]
      const { code, stdout } = await startProgram(command, {}, { here: true })
      expect(code).toBe(1)
      expect(stdout).toContain('not a Squall admin port; pass the admin port of a running sidecar')
    }
  } finally {
    await clients.close()
    await server.close()
  }
})

it('is rejected with the reason of a sidecar that takes no temporary faults, by each API', async () => {
  const why = 'the ConfigMap squall-budget denies new chaos in shop: set by sre'
  const env = { SQUALL_ADMIN_TOKEN, SQUALL_DENY_TEMPORARY_FAULTS: why }
  const flags = ['--upstream', upstream.url, '--compat-api', 'chaos-monkey']
  const frozen = await startSquall({ flags, env })
  try {
    const to = ['--sidecar', new URL(frozen.admin).host, '--admin-token-file']
    const args = ['fault', 'add', '--abort', '503', '--for', '1m', ...to, join(directory, 'token')]
    const { code, stdout } = await startProgram(args, {}, { here: true })
    expect(code).toBe(1)
    expect(stdout).toContain(`nothing was added: ${why}`)
    const response = await fetch(`${frozen.admin}/chaos/inject`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${SQUALL_ADMIN_TOKEN}`,
        'content-type': 'application/json',
      },
      body: '{"target":"search","config":{"type":"error","statusCode":503},"durationMs":30000}',
    })
    expect(response.status).toBe(409)
    expect(await response.text()).toContain(why)
    const reached = await call({ port: frozen.port, host: '127.0.0.1' }, callMessage(1, 'search'))
    expect(reached.status).toBe(200)
    const clear = ['fault', 'clear', ...to, join(directory, 'token')]
    expect(await startProgram(clear, {}, { here: true })).toMatchObject({ code: 0 })
  } finally {
    await frozen.close()
  }
})
