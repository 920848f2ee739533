import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  exchange,
  metricBecomes,
  RawClient,
  response,
  rpcPost,
  type ScriptedSidecar,
  startSidecar,
  toolCall,
  valueOf,
} from '../../support/wire.ts'

let squall: ScriptedSidecar

afterEach(() => squall.close())

test.each([
  ['no framing', 'HTTP/1.1 202 Accepted\r\nConnection: close\r\n\r\n'],
  ['a length of zero', 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'],
  ['empty chunks', 'HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
])('03 a 202 with %s stays a 202 without a body', async (_name, bytes) => {
  squall = await startSidecar({
    upstream: {
      script: async (e) => {
        await e.write(bytes)
        if (bytes.includes('close')) e.fin()
      },
    },
  })
  const { response: given } = await exchange(
    squall.port,
    rpcPost('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    'POST',
  )
  expect([given!.status, given!.bodyBytes, given!.complete]).toEqual([202, 0, true])
})

test('04 JSON is not written anew: key order, big numbers, repeats and blanks stay', async () => {
  const request =
    '{ "id":1e0,\t"x":12345678901234567890123, "jsonrpc":"2.0" ,"method":"tools\\/call","params":{"name":"a","name":"b","arguments":{"\\u00e9":-0.0}}}\n'
  const result =
    '\n{"result":{"n":9007199254740993,"z":1,"a":1.0},"id":1,"jsonrpc":"2.0","extra":null}  '
  squall = await startSidecar({
    upstream: {
      script: (e) => void e.write(response('200 OK', ['Content-Type', 'application/json'], result)),
    },
  })
  const { response: given } = await exchange(squall.port, rpcPost(request), 'POST')
  expect(given!.body.toString()).toBe(result)
  expect(squall.app.requests[0]!.body.toString()).toBe(request)
})

test('12 the size of a body is for the upstream to judge, with a length and in chunks', async () => {
  squall = await startSidecar({
    upstream: {
      keepBytes: false,
      script: (e) => void e.write(response('413 Too Much', [], String(e.request.bodyBytes))),
    },
  })
  const body = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","pad":"${'p'.repeat(5 * 1024 * 1024)}"}}`,
  )
  const head = 'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\n'
  const withLength = await exchange(
    squall.port,
    [`${head}Content-Length: ${body.length}\r\n\r\n`, body],
    'POST',
  )
  const inChunks = await exchange(
    squall.port,
    [`${head}Transfer-Encoding: chunked\r\n\r\n`, chunk(body), '0\r\n\r\n'],
    'POST',
  )
  for (const { response: given } of [withLength, inChunks]) {
    expect([given!.status, given!.body.toString()]).toEqual([413, String(body.length)])
  }
  expect(squall.app.requests.every((request) => request.body.equals(body))).toBe(true)
  expect(await metricBecomes(squall, 2, 'squall_unclassified_total', { reason: 'too_large' })).toBe(
    2,
  )
})

test.each([
  ['application/json', 'json'],
  ['application/json; charset=utf-8', 'json'],
  ['Application/JSON;charset="UTF-8"', 'json'],
  ['text/event-stream', 'sse'],
  ['Text/Event-Stream; charset=utf-8', 'sse'],
])('20 a response of type %s is understood', async (type, form) => {
  const message = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}'
  const body = form === 'json' ? message : `event: message\ndata: ${message}\n\n`
  squall = await startSidecar({
    upstream: {
      script: (e) => void e.write(response('200 OK', ['Content-Type', type], body)),
    },
  })
  const { response: given } = await exchange(squall.port, toolCall(1), 'POST')
  expect(given!.body.toString()).toBe(body)
  expect(
    await metricBecomes(squall, 1, 'squall_calls_total', {
      tool: 'echo',
      outcome: 'tool_error',
    }),
  ).toBe(1)
})

test.each(['0', '-7', '1', '"1"', '""', '"\u65e5\u672c\\u0000"', '9007199254740991', '1.5'])(
  '27 the id %s and any progress token pass, and the response is found by them',
  async (id) => {
    const body = `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t","_meta":{"progressToken":${id}}},"id":${id}}`
    const result = `{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`
    squall = await startSidecar({
      upstream: {
        script: (e) =>
          void e.write(response('200 OK', ['Content-Type', 'application/json'], result)),
      },
    })
    const { response: given } = await exchange(squall.port, rpcPost(body), 'POST')
    expect(squall.app.requests[0]!.body.toString()).toBe(body)
    expect(given!.body.toString()).toBe(result)
    expect(await metricBecomes(squall, 1, 'squall_calls_total', { tool: 't', outcome: 'ok' })).toBe(
      1,
    )
  },
)

test('28 a compressed response is read in a copy and passed on as it came', async () => {
  const zipped = gzipSync('{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}')
  const lines = ['Content-Type', 'application/json', 'Content-Encoding', 'gzip']
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('200 OK', lines, zipped)) },
  })
  const { response: given } = await exchange(
    squall.port,
    toolCall(1, 'echo', 'Accept-Encoding: gzip, deflate\r\n'),
    'POST',
  )
  expect(given!.body.equals(zipped)).toBe(true)
  expect(valueOf(squall.app.requests[0]!.headers, 'accept-encoding')).toBe('gzip, deflate')
  expect(await metricBecomes(squall, 1, 'squall_calls_total', { outcome: 'tool_error' })).toBe(1)
})

test('28 a compressed response that is broken is passed on all the same', async () => {
  const broken = Buffer.from('not gzip at all')
  const lines = ['Content-Type', 'application/json', 'Content-Encoding', 'gzip']
  squall = await startSidecar({
    upstream: { script: (e) => void e.write(response('200 OK', lines, broken)) },
  })
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1), 'POST')
  expect((await client.response())!.body.equals(broken)).toBe(true)
  client.close()
})
