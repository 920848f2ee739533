import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import {
  type AppExchange,
  chunk,
  type ClientResponse,
  exchange,
  response,
  type ScriptedSidecar,
  startSidecar,
  valueOf,
  valuesOf,
} from '../support/wire.ts'

const PATH = '/.well-known/oauth-protected-resource/mcp'
const PUBLIC = 'https://gw.example/squall'
const JSON_TYPE = ['Content-Type', 'application/json']
let squall: ScriptedSidecar | undefined

afterEach(async () => {
  await squall?.close()
  squall = undefined
})

interface Asked {
  readonly path?: string
  readonly publicUrl?: string | null
  readonly host?: string
}

/** Returns the response of an upstream, through a sidecar with a public URL, to one GET. */
async function asked(
  respond: (own: string) => Buffer | readonly Buffer[],
  { path = PATH, publicUrl = PUBLIC, host = 'squall.example:9' }: Asked = {},
): Promise<ClientResponse> {
  const script = async (app: AppExchange): Promise<void> => {
    const own = `127.0.0.1:${app.socket.localPort}`
    await app.send([respond(own)].flat())
  }
  squall = await startSidecar({ publicUrl: publicUrl ?? undefined, upstream: { script } })
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
  const { response: received } = await exchange(squall.port, request)
  return received!
}

const metadata = (own: string): string =>
  `{ "resource": "http:\\/\\/${own}/mcp",\n "authorization_servers": ["http://LOCALHOST:${own.slice(10)}", "https://squall.example:9/", "http://${own}0/x", "http://${own}@as.example/", "https://as.example/?for=http://${own}/"], "http://${own}": 1.0 }`
const rewritten = (own: string): string =>
  `{ "resource": "${PUBLIC}/mcp",\n "authorization_servers": ["${PUBLIC}", "${PUBLIC}/", "http://${own}0/x", "http://${own}@as.example/", "https://as.example/?for=http://${own}/"], "http://${own}": 1.0 }`
const ownOf = (): string => new URL(squall!.app.url).host

test('each challenge names the public URL, on every path', async () => {
  const challenge = (base: string, other: string): string =>
    `Bearer realm="${other}", resource_metadata="${base}${PATH}", scope=a`
  const received = await asked(
    (own) =>
      response(
        '401 Unauthorized',
        [
          ['WWW-Authenticate', challenge(`http://${own}`, `http://${own}.example`)],
          ['www-authenticate', challenge('http://squall.example:9', 'x')],
          ['X-Own', `http://${own}/`],
        ].flat(),
        `http://${own}/`,
      ),
    { path: '/mcp' },
  )
  expect(valuesOf(received.headers, 'www-authenticate')).toEqual([
    challenge(PUBLIC, `http://${ownOf()}.example`),
    challenge(PUBLIC, 'x'),
  ])
  expect(valueOf(received.headers, 'x-own')).toBe(`http://${ownOf()}/`)
  expect(received.body.toString()).toBe(`http://${ownOf()}/`)
})

test.each(['length', 'chunks', 'gzip'] as const)('metadata is rewritten (%s)', async (how) => {
  const received = await asked((own) => {
    const text = metadata(own)
    if (how === 'length') return response('200 OK', [...JSON_TYPE, 'ETag', '"1"'], text)
    if (how === 'gzip') {
      return response('200 OK', [...JSON_TYPE, 'Content-Encoding', 'gzip'], gzipSync(text))
    }
    const head = response('200 OK', [...JSON_TYPE, 'Transfer-Encoding', 'chunked'])
    return [head, chunk(text.slice(0, 30)), chunk(text.slice(30)), Buffer.from('0\r\n\r\n')]
  })
  const expected = rewritten(ownOf())
  expect(received.body.toString()).toBe(expected)
  expect(valuesOf(received.headers, 'content-length')).toEqual([`${expected.length}`])
  expect(received.framing).toBe('length')
  expect(valueOf(received.headers, 'content-encoding')).toBeUndefined()
  expect(valueOf(received.headers, 'etag')).toBeUndefined()
})

const long = (own: string): string => JSON.stringify({ resource: `http://${own}/`.padEnd(70_000) })
test.each<[string, string | null, string, string[], (own: string) => string | Buffer]>([
  ['more than 64 KiB', PUBLIC, PATH, JSON_TYPE, long],
  [
    'more than 64 KiB when it is decoded',
    PUBLIC,
    PATH,
    [...JSON_TYPE, 'Content-Encoding', 'gzip'],
    (own) => gzipSync(long(own)),
  ],
  ['an unknown coding', PUBLIC, PATH, [...JSON_TYPE, 'Content-Encoding', 'x'], metadata],
  ['damaged JSON', PUBLIC, PATH, JSON_TYPE, (own) => metadata(own).slice(1)],
  ['another type', PUBLIC, PATH, ['Content-Type', 'text/plain'], metadata],
  ['another path', PUBLIC, '/.well-known/oauth-protected-resources', JSON_TYPE, metadata],
  ['no public URL', null, PATH, JSON_TYPE, metadata],
])('the response passes as it came: %s', async (_, publicUrl, path, headers, body) => {
  const challenge =
    publicUrl === null ? ['WWW-Authenticate', `Bearer a="http://squall.example:9/"`] : []
  const lines = [...headers, ...challenge]
  let sent = Buffer.alloc(0)
  const received = await asked(
    (own) => {
      sent = Buffer.from(body(own))
      return response('200 OK', lines, sent)
    },
    { path, publicUrl },
  )
  expect(received.body.equals(sent)).toBe(true)
  // The headers behind it describe the connection.
  const expected = [...lines, 'Content-Length', `${sent.length}`]
  expect(received.headers.slice(0, expected.length)).toEqual(expected)
})

test('a URL at the public origin is left alone', async () => {
  const text = '{"authorization_servers":["https://gw.example/auth"]}'
  const received = await asked(() => response('200 OK', JSON_TYPE, text), { host: 'gw.example' })
  expect(received.body.toString()).toBe(text)
})

test('metadata that breaks off breaks off for the client too', async () => {
  const script = async (app: AppExchange): Promise<void> => {
    await app.send([
      response('200 OK', [...JSON_TYPE, 'Content-Length', '99']),
      Buffer.from('{"a"'),
    ])
    app.fin()
  }
  squall = await startSidecar({ publicUrl: PUBLIC, upstream: { script } })
  const { client } = await exchange(squall.port, `GET ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`)
  expect(await client.gone).toBe('fin')
  expect(client.current?.body.toString() ?? '').toBe('{"a"')
})
