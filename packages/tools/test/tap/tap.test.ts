import { expect, it } from 'vitest'
import type { FollowRequest } from '../../src/commands/tap.ts'
import { tap } from '../../src/tap/tap.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { openClient, startUpstream } from '../../../../test/support/wire.ts'
import { type Squall, startProgram, startSquall } from '../../../../test/support/commands.ts'
import { FakeTerminal } from '../top/fake-terminal.ts'

const opened = closers()

const RULES =
  'rules: [{ name: broken, match: { tool: bad }, faults: [abort: { toolError: boom }] }]'

/** Taps until the output matches, or until the tap ends by itself. */
function begin(
  port: number,
  options: Partial<FollowRequest> = {},
  terminal = new FakeTerminal(false),
) {
  const problems: string[] = []
  const ended = tap(
    {
      endpoints: [{ host: '127.0.0.1', port }],
      readToken: undefined,
      query: '',
      limit: Infinity,
      json: false,
      colours: false,
      ...options,
    },
    terminal,
    { write: (text: string) => problems.push(text) },
  )
  return {
    ended,
    problems,
    written: () => terminal.written,
    reads: (pattern: RegExp) =>
      eventually(() => (pattern.test(terminal.written) ? undefined : terminal.written)),
    stop: async () => {
      terminal.emit('error', new Error('EPIPE'))
      return ended
    },
  }
}

/** Resolves when the tap is open: a call before would be missed. */
async function isOpen({ running, admin }: Squall): Promise<void> {
  await eventually(async () => {
    const text = await (await fetch(`${admin}/livez`)).text()
    return text !== '' && running.watch.wants({ outcome: 'ok' }) ? undefined : 'nobody taps yet'
  })
}

it('shows who called what, how long it took and how it ended', async () => {
  const { host } = await startUpstream('session')
  opened(host)
  const squall = opened(await startSquall('--upstream', host.origin))
  const { port } = squall.running.admin!
  const tapped = begin(port)
  await isOpen(squall)
  const client = await openClient('v1')(`http://127.0.0.1:${squall.port}/mcp`, 'streamableHttp')
  opened(client)
  await client.call('echo', { message: 'a secret argument' })
  await tapped.reads(
    /^\d\d:\d\d:\d\d\.\d{3} {2}echo +[\d.]+ m?s {2}ok +real {2,}interop-v1 1\.0\.0 +[0-9a-f]{8} {2}\d+ B$/m,
  )
  expect(tapped.written()).toMatch(/ {2}initialize +[\d.]+ m?s {2}ok /)
  expect(tapped.written()).not.toContain('secret')
  expect(await tapped.stop()).toBe(0)
  // Nobody reads any more.
  await eventually(() =>
    squall.running.watch.wants({ outcome: 'ok' }) ? 'somebody still reads' : undefined,
  )
})

it('shows the client of a protocol version without sessions', async () => {
  const server = opened(await startUpstream('modern'))
  const squall = opened(await startSquall('--upstream', server.origin))
  const tapped = begin(squall.running.admin!.port, { query: 'tool=echo', limit: 1 })
  await isOpen(squall)
  const client = await openClient('v2 auto')(
    `http://127.0.0.1:${squall.port}/mcp`,
    'streamableHttp',
  )
  opened(client)
  await client.call('echo', { message: 'hi' })
  expect(await tapped.ended).toBe(0)
  expect(tapped.written()).toMatch(/echo +[\d.]+ m?s {2}ok +real {2,}interop-\S+ [\d.]+ +- /)
})

it('prints lines of JSON up to a limit, those that pass the filters', async () => {
  const { squall, ask } = opened(await startSquall({ rules: RULES }))
  const tapped = begin(squall.running.admin!.port, { query: 'errors=true', json: true, limit: 2 })
  await isOpen(squall)
  for (const tool of ['good', 'bad', 'good', 'bad', 'bad']) await ask(tool)
  expect(await tapped.ended).toBe(0)
  const lines = tapped.written().trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
    [2, 4].map((id) => ({
      id,
      tool: 'bad',
      outcome: 'tool_error',
      origin: 'injected',
      faults: [{ rule: 'broken', fault: 'abort' }],
    })),
  )
})

it('names the sidecar of each call where there are several', async () => {
  const first = opened(await startSquall({ rules: RULES }))
  const second = opened(await startSquall({ rules: RULES }))
  const endpoints = [first, second].map(({ squall }) => ({
    host: '127.0.0.1',
    port: squall.running.admin!.port,
  }))
  const tapped = begin(0, { endpoints, limit: 2 })
  await isOpen(first.squall)
  await isOpen(second.squall)
  await first.ask('bad')
  await second.ask('good')
  await tapped.ended
  const lines = tapped.written().split('\n')
  expect(lines[0]).toMatch(new RegExp(`^127.0.0.1:${endpoints[0]!.port} .* bad `))
  expect(lines[1]).toMatch(new RegExp(`^127.0.0.1:${endpoints[1]!.port} .* good `))
})

it('makes no terminal obey what others send, and keeps columns together', async () => {
  const { squall, ask } = opened(await startSquall({ rules: RULES }))
  const terminal = new FakeTerminal()
  terminal.columns = 80
  const tapped = begin(squall.running.admin!.port, { limit: 1 }, terminal)
  await isOpen(squall)
  await ask('\u001b]0;owned\u0007\u202e\u0301tool-with-a-long-name')
  await tapped.ended
  expect(tapped.written()).toMatch(/^[\u0020-\u007e\n…]*$/)
  const [head = '', line = ''] = tapped.written().split('\n')
  expect(line.indexOf('ok')).toBe(head.indexOf('OUTCOME'))
})

it.each([80, 100])('fits a terminal of %i columns, with what was injected', async (columns) => {
  const { squall, ask } = opened(await startSquall({ rules: RULES }))
  const terminal = new FakeTerminal()
  terminal.columns = columns
  const tapped = begin(squall.running.admin!.port, { limit: 1 }, terminal)
  await isOpen(squall)
  await ask('bad')
  await tapped.ended
  const lines = tapped.written().trimEnd().split('\n')
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(columns)
  expect(lines[1]).toMatch(/^\d\d:\d\d:\d\d  bad .* injected +\S+\/\w/)
})

it('shows what a sidecar dropped, goes on after a loss, and trusts no other server', async () => {
  const parts = [
    'event: dropped\ndata: {"dropped":120}\n\n',
    'data: {"at":"2026-03-01T09:00:00.000Z","method":"tools/list","outcome":"ok","origin": "real"}\n\n',
  ]
  let asked = 0
  const server = await startUpstream((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(asked++ === 0 ? parts.join('') : 'data: {"at":7}\n\n')
  })
  const tapped = begin(opened(server).port)
  await eventually(() => (tapped.problems.length >= 3 ? undefined : tapped.problems.join('')))
  await tapped.stop()
  expect(tapped.written()).toMatch(/^09:00:00\.000 {2}tools\/list +- {2}ok /)
  expect(tapped.problems.slice(0, 3)).toEqual([
    expect.stringMatching(
      /^squall: 127\S+: 120 calls were dropped: they arrived too fast; use narrower filters\n$/,
    ),
    expect.stringMatching(/^squall: 127\S+: lost, trying again: the connection ended\n$/),
    expect.stringMatching(/lost, trying again: \/api\/tap cannot be read: .* is missing/),
  ])
})

it('ends where there never was a sidecar', async () => {
  const tapped = begin(1)
  await expect(tapped.ended).rejects.toThrow(
    '127.0.0.1:1: connection refused; pass the admin port of a running sidecar',
  )
})

it.each([
  [['--outcome', 'bad'], 'unknown outcome "bad"; use ok, tool_error'],
  [['--slower-than', 'x'], 'slowerThan must be a duration such as 250ms'],
])('fails with %j, and says why', async (args, why) => {
  const { code, stderr } = await startProgram(['tap', ...args], {}, { here: true })
  expect(code).not.toBe(0)
  expect(stderr).toContain(why)
})
