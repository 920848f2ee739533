import { readFile, stat, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { Secrets } from '../../../../test/telemetry/secrets.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { call, startUpstream } from '../../../../test/support/wire.ts'
import { linesOf, newPath } from './recorded.ts'

const open = closers()

interface Asked {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly arguments?: unknown }
}

/** Starts a server whose tool returns what `result` makes; `head` may set headers. */
async function server(
  result: (asked: Asked) => unknown,
  head: (response: ServerResponse) => void = () => undefined,
) {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const asked = (await json(request)) as Asked
    head(response)
    if (asked.id === undefined) return void response.writeHead(202).end()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: result(asked) }))
  }
  return open(await startUpstream((request, response) => void respond(request, response)))
}

function ask(id: number, name: string, args: object, more = {}): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...more } }
}

const TEXT = { content: [{ type: 'text', text: 'fine' }] }

/** Records calls in front of a server; returns the path. */
async function recorded(
  url: string,
  messages: readonly object[],
  flags: readonly string[] = [],
  headers = {},
): Promise<string> {
  const path = await newPath()
  const squall = await startSquall('--upstream', url, '--tape', path, ...flags)
  for (const message of messages) {
    await call({ port: squall.port, headers }, message).catch(() => undefined)
  }
  await squall.close()
  return path
}

it('records no secret of a header, an argument or a result', async () => {
  const secrets = new Secrets()
  const put = (place: string): string => secrets.plant(place)
  const app = await server(
    () => ({
      content: [
        { type: 'text', text: `Authorization: Bearer ${put('bearer in text')}` },
        { type: 'text', text: `the key is sk-live-${put('key in text')}` },
        { type: 'text', text: `see https://user:${put('password of a URL')}@example.com/` },
        { type: 'text', text: `https://example.com/?access_token=${put('query')}&page=2` },
        { type: 'text', text: JSON.stringify({ password: put('JSON in text'), user: 'ada' }) },
        { type: 'text', text: `{"token":"${put('twice')}","token":"none"}` },
        { type: 'text', text: JSON.stringify({ a: JSON.stringify({ apiKey: put('nested') }) }) },
        {
          type: 'resource',
          resource: {
            uri: `db://x:${put('uri')}@host/`,
            mimeType: 'text/plain',
            blob: Buffer.from(`password=${put('blob')}`).toString('base64'),
          },
        },
      ],
      structuredContent: {
        session_cookie: put('cookie'),
        clientSecret: put('secret'),
        credentials: { authorization: { value: put('under a name') } },
        list: [put('opaque')],
        token: 123_456,
        maxTokens: 512,
      },
      _meta: { apiKey: put('meta of a result') },
    }),
    (response) => {
      response.setHeader('set-cookie', `sid=${put('set-cookie')}`)
      response.setHeader('www-authenticate', `Bearer error="${put('challenge')}"`)
      response.setHeader('mcp-session-id', put('session of a response'))
    },
  )
  const names = ['authorization', 'cookie', 'x-api-key', 'proxy-authorization', 'mcp-session-id']
  const args = {
    password: put('argument'),
    header: `Basic ${put('basic')}`,
    deep: [{ auth_token: put('deep') }],
    name: `sk-${put('under the name of a name')}`,
    query: 'cheap flights',
  }
  const more = { _meta: { 'x-token': put('meta'), progressToken: 'step' } }
  const path = await recorded(
    app.url,
    [ask(1, 'login', args, more)],
    [],
    secrets.headers(names, 'request'),
  )
  const text = await readFile(path, 'utf8')
  expect(secrets.foundIn(text)).toEqual([])
  expect(text).not.toContain('123456')
  const [asked, responded] = await linesOf(path)
  expect(asked).toMatchObject({
    params: {
      name: 'login',
      arguments: { query: 'cheap flights' },
      _meta: { progressToken: 'step' },
    },
  })
  const { content, structuredContent } = responded!.result as {
    content: readonly { text: string }[]
    structuredContent: object
  }
  expect(JSON.parse(content[4]!.text)).toEqual({ password: '[redacted]', user: 'ada' })
  expect(structuredContent).toMatchObject({ maxTokens: 512, token: '[redacted]' })
})

it('keeps the names in the lists of a server, and texts that are no secrets', async () => {
  const tools = [
    {
      name: 'github_create_issue_2024_v123',
      description: 'Creates an issue, see https://raw.githubusercontent.com/a/b',
      inputSchema: {
        type: 'object',
        properties: { password: { type: 'string' }, token: { type: 'integer' } },
        required: ['organization_id_2024_version_12'],
      },
    },
  ]
  const image = Buffer.alloc(300, 7).toString('base64')
  const result = {
    content: [
      { type: 'image', mimeType: 'image/png', data: image },
      { type: 'text', text: '{\n  "order": "7f0c8f26-5b0e-4e7c-9d3e-0a9d7d8f9a11"\n}' },
    ],
  }
  const app = await server(({ method }) => (method === 'tools/list' ? { tools } : result))
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const path = await recorded(app.url, [list, ask(2, 'github_create_issue_2024_v123', {})])
  const lines = await linesOf(path)
  expect(lines[1]!.result).toEqual({ tools })
  expect(lines[2]!.params).toMatchObject({ name: 'github_create_issue_2024_v123' })
  expect(lines[3]!.result).toEqual(result)
})

it('replaces values at pointers, and keeps secrets when asked to', async () => {
  const rows = [
    { mail: 'ada@example.com', id: 1 },
    { mail: 'bob@example.com', id: 2 },
  ]
  const texts = [JSON.stringify({ rows }), JSON.stringify({ rows }, null, 2), 'two rows']
  const content = texts.map((text) => ({ type: 'text', text }))
  const app = await server(() => ({ content, structuredContent: { rows } }))
  const flags = ['--tape-keep-secrets', '--tape-redact', '/params/arguments/card']
  const all = [...flags, '--tape-redact', '/result/structuredContent/rows/*/mail']
  const path = await recorded(app.url, [ask(1, 'pay', { card: 4711, token: 'kept-1' })], all)
  const [header] = (await readFile(path, 'utf8')).split('\n')
  expect(JSON.parse(header!)).toMatchObject({ tape: 1, secrets: 'kept' })
  expect(JSON.parse(header!)).toHaveProperty('note', expect.stringContaining('in clear'))
  const [asked, responded] = await linesOf(path)
  expect(asked!.params).toMatchObject({ arguments: { card: '[redacted]', token: 'kept-1' } })
  const redacted = {
    rows: [
      { mail: '[redacted]', id: 1 },
      { mail: '[redacted]', id: 2 },
    ],
  }
  expect(responded!.result).toEqual({
    content: [
      { type: 'text', text: JSON.stringify(redacted) },
      { type: 'text', text: JSON.stringify(redacted, null, 2) },
      { type: 'text', text: 'two rows' },
    ],
    structuredContent: redacted,
  })
})

it('replaces values of a list that a server wraps, also where each item has its own text', async () => {
  const items = [{ mail: 'ada@example.com' }, { mail: 'bob@example.com' }]
  const texts = [...items, items].map((each) => ({ type: 'text', text: JSON.stringify(each) }))
  const app = await server(() => ({ content: texts, structuredContent: { result: items } }))
  const flags = ['--tape-redact', '/result/structuredContent/result/*/mail']
  const path = await recorded(app.url, [ask(1, 'list', {})], flags)
  expect(await readFile(path, 'utf8')).not.toContain('@example.com')
})

it('is readable by its owner alone, and replaces no file unless asked to', async () => {
  const app = await server(() => TEXT)
  const path = await recorded(app.url, [ask(1, 'echo', {})])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const before = await readFile(path, 'utf8')
  const again = ['--upstream', app.url, '--tape', path]
  await expect(startSquall(...again)).rejects.toThrow(/the file already exists.*--tape-force/)
  expect(await readFile(path, 'utf8')).toBe(before)
  const squall = await startSquall(...again, '--tape-force')
  await squall.close()
  expect(await linesOf(path)).toEqual([])
})

it('records the server, not the faults that the client meets', async () => {
  const app = await server(() => TEXT)
  const path = await newPath()
  const rules = 'rules:\n  - { match: { tool: pay }, name: short, faults: [truncate] }\n'
  const file = await newPath('rules.yaml')
  await writeFile(file, rules)
  const squall = await startSquall('--upstream', app.url, '--tape', path, '--rules', file)
  const met = await call({ port: squall.port }, ask(1, 'pay', {})).catch(() => undefined)
  await squall.close()
  expect(met?.text ?? '').not.toContain('fine')
  const [, responded] = await linesOf(path)
  expect(responded!.result).toEqual(TEXT)
})

it('ends at its largest size, counts what is dropped, and lets calls pass', async () => {
  const large = { content: [{ type: 'text', text: 'word '.repeat(80_000) }] }
  const app = await server(() => large)
  const path = await newPath()
  const flags = ['--upstream', app.url, '--tape', path, '--tape-size', '1MiB']
  const squall = open(await startSquall(...flags))
  for (let id = 1; id <= 4; id++) {
    expect((await call({ port: squall.port }, ask(id, 'echo', {}))).status).toBe(200)
  }
  const ended = await squall.logged('the recording has ended; later messages are not recorded')
  expect(ended).toMatchObject({ why: 'the tape has reached the maximum size' })
  const { size } = await stat(path)
  expect(size).toBeLessThanOrEqual(1024 * 1024)
  await squall.reaches('squall_tape_messages_total', { result: 'dropped' }, 3)
  await squall.reaches('squall_tape_messages_total', { result: 'written' }, 5)
})

it('ends when the disk is full, and lets calls pass', async () => {
  const app = await server(() => ({ content: [{ type: 'text', text: 'word '.repeat(20_000) }] }))
  const path = await newPath()
  const main = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url))
  const flags = `run --listen 127.0.0.1:0 --admin off --log-format json --upstream ${app.url} --tape ${path}`
  // A file may have 64 blocks of 512 bytes at most; writing more is an error without the signal.
  const script = `trap '' XFSZ; ulimit -f 64; exec ${process.execPath} ${main} ${flags}`
  const program = startProgram(['-c', script], {}, { program: '/bin/sh' })
  open({ close: () => program.kill() })
  const { address } = (await program.logged('listening')) as { address: string }
  const port = Number(address.split(':')[1])
  for (let id = 1; id <= 3; id++) {
    expect((await call({ port, host: '127.0.0.1' }, ask(id, 'echo', {}))).status).toBe(200)
  }
  const line = 'the recording has ended; later messages are not recorded'
  expect(await program.logged(line)).toMatchObject({ why: 'EFBIG' })
})

it('records what is no result: an error, a status, and a response that is too large', async () => {
  const respond = (response: ServerResponse, { id, params }: Asked): void => {
    if (params?.name === 'busy') response.writeHead(503, { 'retry-after': '7' }).end('busy')
    else if (params?.name === 'cut') response.socket!.resetAndDestroy()
    else {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { text: 'x'.repeat(3_000) } }))
    }
  }
  const app = open(
    await startUpstream((request, response) => {
      void json(request).then((asked) => respond(response, asked as Asked))
    }),
  )
  const names = ['busy', 'cut', 'large']
  const path = await recorded(
    app.url,
    names.map((name, id) => ask(id, name, {})),
    ['--max-body', '2KiB'],
  )
  const found = (await linesOf(path)).filter(({ from }) => from === 'server')
  expect(found).toMatchObject([
    { status: 503, retryAfter: '7', body: 'busy' },
    { failed: 'reset' },
    { omitted: 'too_large', bytes: expect.any(Number) },
  ])
})

it('records the events of a stream that breaks, and then the failure, as parts of a stream', async () => {
  const large = { jsonrpc: '2.0', method: 'log', params: { text: 'word '.repeat(100_000) } }
  const app = open(
    await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(large)}\n\n`, () => response.destroy())
    }),
  )
  const path = await recorded(app.url, [ask(1, 'echo', {})])
  const [, ...found] = await linesOf(path)
  expect(found).toMatchObject([
    { via: 'sse', method: 'log' },
    { via: 'sse', failed: 'closed' },
  ])
})

it.each([
  [['--tape-redact', '/arguments/card'], /must point into a message/],
  [['--tape-redact', 'card'], /must point into a message/],
])('rejects a pointer that selects nothing: %s', async (flags, message) => {
  const path = await newPath()
  await expect(startSquall('--tape', path, ...flags)).rejects.toThrow(message)
})

it('rejects options of a tape without a tape', async () => {
  await expect(startSquall('--tape-keep-secrets')).rejects.toThrow(/require --tape.*--tape/)
})

it.each([0, 20_000])('records the response to a deep call with a text of %i', async (size) => {
  const nested = JSON.parse('['.repeat(1_000) + ']'.repeat(1_000)) as unknown
  const args = { nested, text: 'x'.repeat(size) }
  const app = await server(() => TEXT)
  const path = await recorded(app.url, [ask(1, 'deep', args), ask(2, 'flat', {})])
  const lines = await linesOf(path)
  expect(lines.slice(0, 2)).toMatchObject([
    { from: 'client', ...(size > 0 ? { omitted: 'unreadable' } : { id: 1 }) },
    { from: 'server', id: 1, result: TEXT },
  ])
  expect(lines.slice(2)).toMatchObject([{ id: 2 }, { id: 2, result: TEXT }])
})
