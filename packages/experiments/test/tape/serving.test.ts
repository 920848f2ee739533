// part: slow
import { writeFile } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { startUpstream } from '../../../../test/support/wire.ts'
import { Player } from '../../src/tape/player.ts'
import { serveLines } from '../../src/tape/serve-lines.ts'
import { openTape } from '../../src/tape/tape.ts'
import { newPath, served, written } from './recorded.ts'

const open = closers()
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** Returns the lines of a call with its response. */
function taped(exchange: number, name: string, args: object, result: object, more = {}): object[] {
  const place = { at: exchange * 10, exchange, ...more }
  const params = { name, arguments: args }
  return [
    { ...place, from: 'client', id: exchange, method: 'tools/call', params },
    { ...place, at: place.at + 5, from: 'server', via: 'json', id: exchange, result },
  ]
}

function text(said: string): { content: readonly { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text: said }] }
}

async function send(url: string, message: object, headers = {}): Promise<Response> {
  const body = JSON.stringify(message)
  return fetch(url, { method: 'POST', headers: { ...HEADERS, ...headers }, body })
}

let ids = 100

/** Calls a tool; returns its text, or the message of an error. */
async function ask(url: string, name: string, args: object = {}, headers = {}): Promise<string> {
  const params = { name, arguments: args }
  const message = { jsonrpc: '2.0', id: ++ids, method: 'tools/call', params }
  const { id, result, error } = (await (await send(url, message, headers)).json()) as {
    id: number
    result?: { content: readonly { text: string }[] }
    error?: { message: string }
  }
  expect(id).toBe(ids)
  return result?.content[0]?.text ?? error?.message ?? ''
}

const PRICES = [
  ...taped(1, 'price', { from: 'HAM', to: 'LIS' }, text('first')),
  ...taped(2, 'price', { to: 'LIS', from: 'HAM' }, text('second')),
  ...taped(3, 'price', { from: 'HAM', to: 'ROM' }, text('Rome')),
]

it('finds a call by its tool and arguments, in any order of keys, and the nth by its number', async () => {
  const { url, calls } = open(await served(await written(PRICES)))
  expect(await ask(url, 'price', { to: 'ROM', from: 'HAM' })).toBe('Rome')
  expect(await ask(url, 'price', { to: 'LIS', from: 'HAM' })).toBe('first')
  expect(await ask(url, 'price', { from: 'HAM', to: 'LIS' })).toBe('second')
  expect(await ask(url, 'price', { from: 'HAM', to: 'LIS' })).toMatch(/^off the tape/)
  expect(await ask(url, 'weather', {})).toMatch(/^off the tape/)
  expect(calls.map(({ from, occurrence }) => [from, occurrence])).toEqual([
    ['tape', 0],
    ['tape', 0],
    ['tape', 1],
    ['off', 2],
    ['off', 0],
  ])
})

it('finds a call whose secrets are redacted', async () => {
  const lines = taped(1, 'login', { token: '[redacted]', user: 'ada' }, text('hello'))
  const { url } = open(await served(await written(lines)))
  expect(await ask(url, 'login', { user: 'ada', token: 'another one' })).toBe('hello')
})

it('finds a call by its tool alone, and repeats the last one, when asked to', async () => {
  const byTool = open(await served(await written(PRICES), { match: 'tool', offTape: 'last' }))
  const all = []
  for (const to of ['Lisbon', 'Lisboa', 'LIS', 'Rome'])
    all.push(await ask(byTool.url, 'price', { to }))
  expect(all).toEqual(['first', 'second', 'Rome', 'Rome'])
  const last = open(await served(await written(PRICES), { offTape: 'last' }))
  expect(await ask(last.url, 'price', { to: 'PAR' })).toBe('Rome')
  expect(await ask(last.url, 'weather')).toMatch(/^off the tape/)
})

it('asks a live server for calls off the tape', async () => {
  const server = open(await startUpstream('scripted', ['ok']))
  const path = await written(PRICES)
  const flags = ['--upstream', server.url.href, '--listen', '127.0.0.1:0', '--admin', 'off']
  const program = startProgram(['tape', 'serve', path, ...flags, '--log-format', 'json'])
  open({ close: () => program.kill() })
  expect(await program.logged('serving a tape')).toMatchObject({ calls: 3, values: 'redacted' })
  const { url } = (await program.logged('listening')) as { url: string }
  expect(await ask(url, 'price', { from: 'HAM', to: 'ROM' })).toBe('Rome')
  const live = await ask(url, 'work', { anything: 1 })
  expect(live).not.toMatch(/^off the tape/)
  expect(server.calls.map(({ tool }) => tool)).toEqual(['work'])
  await program.logged('a call is off the tape')
})

describe('a tape of several sessions', () => {
  const sessions = [
    ...taped(1, 'price', {}, text('of a'), { session: 'aaaa' }),
    ...taped(2, 'price', {}, text('of b'), { session: 'bbbb' }),
    ...taped(3, 'price', {}, text('of b again'), { session: 'bbbb' }),
  ]

  it('asks for the session', async () => {
    const tape = await openTape(await written(sessions))
    expect(() => new Player(tape)).toThrow(
      /2 sessions.*--session: aaaa \(1 calls\), bbbb \(2 calls\)/,
    )
    expect(() => new Player(tape, { session: 'c' })).toThrow(/0 sessions/)
    await tape.close()
  })

  it('plays one, or all', async () => {
    const one = open(await served(await written(sessions), { session: 'bb' }))
    expect(await ask(one.url, 'price')).toBe('of b')
    const all = open(await served(await written(sessions), { session: 'all' }))
    expect([await ask(all.url, 'price'), await ask(all.url, 'price')]).toEqual(['of a', 'of b'])
  })
})

const INIT = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'a', version: '1' },
}
const HANDSHAKE = [
  { at: 0, exchange: 90, from: 'client', id: 0, method: 'initialize', params: INIT },
  {
    at: 1,
    exchange: 90,
    session: 'abcd',
    from: 'server',
    via: 'json',
    id: 0,
    result: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      serverInfo: { name: 's', version: '1' },
    },
  },
]

/** Begins a session; returns its header. */
async function begin(url: string, protocolVersion = '2025-11-25'): Promise<Record<string, string>> {
  const params = { ...INIT, protocolVersion }
  const response = await send(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await response.body?.cancel()
  return { 'mcp-session-id': response.headers.get('mcp-session-id')! }
}

it('gives each client a session of its own, in which the tape begins anew', async () => {
  const lines = [...HANDSHAKE, ...taped(1, 'price', {}, text('first'), { session: 'abcd' })]
  const { url } = open(await served(await written(lines)))
  const [a, b] = [await begin(url), await begin(url)]
  expect(a).not.toEqual(b)
  expect([await ask(url, 'price', {}, a), await ask(url, 'price', {}, b)]).toEqual([
    'first',
    'first',
  ])
  expect(await ask(url, 'price', {}, a)).toMatch(/^off the tape/)
  expect((await fetch(url, { method: 'DELETE', headers: a })).status).toBe(200)
  const lost = await send(url, { jsonrpc: '2.0', id: 2, method: 'ping' }, a)
  expect(lost.status).toBe(404)
})

it('responds to a handshake with the protocol version that the client asks for, where it has it', async () => {
  const old = HANDSHAKE.map((line) =>
    JSON.parse(JSON.stringify(line).replaceAll('2025-11-25', '2025-03-26').replaceAll('90', '91')),
  ) as object[]
  const { url } = open(await served(await written([...HANDSHAKE, ...old]), { session: 'all' }))
  for (const protocolVersion of ['2025-03-26', '2025-11-25']) {
    const params = { ...INIT, protocolVersion }
    const response = await send(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
    expect(await response.json()).toMatchObject({ result: { protocolVersion } })
  }
})

it('leads through the pages of a list with cursors of its own', async () => {
  const page = (exchange: number, cursor: object, result: object): object[] => [
    { at: exchange, exchange, from: 'client', id: exchange, method: 'tools/list', params: cursor },
    { at: exchange, exchange, from: 'server', via: 'json', id: exchange, result },
  ]
  const lines = [
    ...page(1, {}, { tools: [{ name: 'a' }], nextCursor: '[redacted]' }),
    ...page(2, { cursor: '[redacted]' }, { tools: [{ name: 'b' }], nextCursor: '[redacted]' }),
    ...page(3, { cursor: '[redacted]' }, { tools: [{ name: 'c' }], nextCursor: 'lost' }),
  ]
  const { url } = open(await served(await written(lines)))
  const names: string[] = []
  for (let round = 0; round < 2; round++) {
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const params: object = cursor === '' ? {} : { cursor }
      const response = await send(url, { jsonrpc: '2.0', id: 1, method: 'tools/list', params })
      const { result } = (await response.json()) as {
        result: { tools: readonly [{ name: string }]; nextCursor?: string }
      }
      names.push(result.tools[0].name)
      cursor = result.nextCursor
    }
  }
  expect(names.join('')).toBe('abcabc')
})

it('responds as the server failed: by status, header and reset', async () => {
  const asked = (exchange: number, name: string): object => ({
    ...(taped(exchange, name, {}, {})[0] as object),
  })
  const lines = [
    asked(1, 'busy'),
    { at: 1, exchange: 1, from: 'server', via: 'json', status: 503, retryAfter: '7', body: 'busy' },
    asked(2, 'cut'),
    { at: 2, exchange: 2, from: 'server', via: 'json', failed: 'reset' },
    asked(3, 'large'),
    { at: 3, exchange: 3, from: 'server', via: 'json', omitted: 'too_large', bytes: 7 },
  ]
  const { url } = open(await served(await written(lines)))
  const params = { name: 'busy', arguments: {} }
  const busy = await send(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  expect([busy.status, busy.headers.get('retry-after'), await busy.text()]).toEqual([
    503,
    '7',
    'busy',
  ])
  await expect(ask(url, 'cut')).rejects.toThrow('fetch failed')
  expect(await ask(url, 'large')).toMatch(/not on the tape.*7 bytes/)
})

it('responds at the recorded pace when asked to', async () => {
  const [asked, responded] = taped(1, 'slow', {}, text('late')) as [object, object]
  const path = await written([asked, { ...responded, at: 10 + 150 }])
  const { url } = open(await served(path, { pace: 'real' }))
  const before = performance.now()
  expect(await ask(url, 'slow')).toBe('late')
  expect(performance.now() - before).toBeGreaterThan(145)
})

it('has faults injected, and its calls counted, as any server', async () => {
  const rules = await newPath('rules.yaml')
  const fault = 'abort: { status: 503 }'
  await writeFile(
    rules,
    `rules:\n  - { name: down, match: { tool: price }, faults: [{ ${fault} }] }\n`,
  )
  const path = await written(PRICES)
  const flags = ['--rules', rules, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const program = startProgram(['tape', 'serve', path, ...flags, '--log-format', 'json'])
  open({ close: () => program.kill() })
  const { url, upstream } = (await program.logged('listening')) as Record<string, string>
  expect(upstream).toContain(path)
  const { page } = (await program.logged('admin listening')) as { page: string }
  const params = { name: 'price', arguments: {} }
  const met = await send(url!, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  expect([met.status, met.headers.get('x-squall-fault')]).toEqual([503, 'down/abort'])
  const metrics = await (await fetch(new URL('metrics', page))).text()
  expect(metrics).toMatch(/squall_faults_injected_total\{[^}]*rule="down"[^}]*\} 1/)
  expect((await fetch(new URL('readyz', page))).status).toBe(200)
})

it('serves a client line by line, until its input ends', async () => {
  const tape = await openTape(await written([...HANDSHAKE, ...PRICES]))
  const [input, output] = [new PassThrough(), new PassThrough()]
  const ended = serveLines(new Player(tape), input, output, new AbortController().signal)
  const params = { name: 'price', arguments: { from: 'HAM', to: 'ROM' } }
  const messages = [
    { jsonrpc: '2.0', id: 'a', method: 'initialize', params: INIT },
    { jsonrpc: '2.0', id: 'b', method: 'tools/call', params },
  ].map((message) => JSON.stringify(message))
  input.end(`${messages[0]}\nnot JSON\n\n${messages[1]}`)
  await ended
  output.end()
  const lines = (await output.toArray()).join('').trimEnd().split('\n')
  const sent = lines.map((line) => JSON.parse(line) as { readonly id: string | null })
  expect(sent.toSorted((x, y) => `${x.id}`.localeCompare(`${y.id}`))).toMatchObject([
    { id: 'a', result: { serverInfo: { name: 's' } } },
    { id: 'b', result: text('Rome') },
    { id: null, error: { code: -32700 } },
  ])
  await tape.close()
})

it.each([
  [['--stdio', '--rules', 'rules.yaml'], /--rules has no effect with --stdio/],
  [
    ['--upstream', 'http://127.0.0.1:1/mcp', '--off-tape', 'last'],
    /--off-tape and --upstream are mutually exclusive/,
  ],
])('rejects flags that do not go together: %s', async (flags, message) => {
  const { code, stderr } = await startProgram(
    ['tape', 'serve', 'a.tape', ...flags],
    {},
    { here: true },
  )
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})
