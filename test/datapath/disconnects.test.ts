import { afterEach, expect, test } from 'vitest'
import {
  chunk,
  median,
  OPEN_STREAM,
  type RawApp,
  type RawAppOptions,
  RawClient,
  response,
  type ScriptedSidecar,
  startSidecar,
  startUpstream,
  STREAM_HEAD,
  toolCall,
} from '../support/wire.ts'

/** The promise is 50 ms; busy machines get more. The median must still keep it. */
const PROMISE = 50
const ROUNDS = 15

let app: RawApp
let squall: ScriptedSidecar

async function start(options: RawAppOptions): Promise<void> {
  squall = await startSidecar({ upstream: options })
  app = squall.app
}

afterEach(() => squall.close())

const silent = (): void => undefined

/** Measures the time until the server learns that clients left, over several rounds. */
async function departures(
  request: string,
  reached: (client: RawClient) => Promise<unknown>,
  leave: (client: RawClient) => void,
): Promise<number[]> {
  const delays: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const client = await RawClient.connect(squall.port)
    await client.send(request, 'POST')
    const { connection } = await app.received(round + 1)
    await reached(client)
    const left = performance.now()
    leave(client)
    await connection.gone
    delays.push(connection.goneAt! - left)
  }
  return delays
}

const ways: readonly [string, (client: RawClient) => void][] = [
  ['closes', (client) => client.close()],
  ['resets', (client) => client.reset()],
]
const nothing = (): Promise<void> => Promise.resolve()
const stages: readonly [string, RawAppOptions, string, (client: RawClient) => Promise<unknown>][] =
  [
    ['before the response', { script: silent }, toolCall(1), nothing],
    [
      'before the response to a request that is not MCP',
      { script: silent },
      'GET /x HTTP/1.1\r\nHost: pod\r\n\r\n',
      nothing,
    ],
    [
      'in the middle of a JSON response',
      {
        script: (e) =>
          void e.write(
            'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half"',
          ),
      },
      toolCall(1),
      (client) => client.sees('{"half"'),
    ],
    [
      'in the middle of an event stream',
      { script: (e) => void e.send([STREAM_HEAD, chunk('data: 1\n\n')]) },
      toolCall(1),
      (client) => client.sees('data: 1'),
    ],
    [
      'on a pushed stream without a byte',
      { script: (e) => void e.write(STREAM_HEAD) },
      OPEN_STREAM,
      (client) => client.head(),
    ],
  ]
const cases = stages.flatMap(([stage, options, request, reached]) =>
  ways.map(([way, leave]) => ({ stage, way, options, request, reached, leave })),
)

test.each(cases)(
  'the upstream learns at once that a client $way $stage',
  async ({ options, request, reached, leave }) => {
    await start(options)
    const delays = await departures(request, reached, leave)
    expect(median(delays)).toBeLessThan(PROMISE)
  },
)

test('a client that leaves in the middle of its upload takes the request to the upstream with it', async () => {
  await start({ onHead: silent })
  const client = await RawClient.connect(squall.port)
  await client.send('PUT /up HTTP/1.1\r\nHost: pod\r\nContent-Length: 1000\r\n\r\npart', 'PUT')
  while (app.connections.length === 0 || app.connections[0]!.bytes.length === 0) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  client.close()
  await app.connections[0]!.gone
  expect(app.requests).toEqual([])
})

test('a client that leaves one of its streams does not touch the others', async () => {
  await start({ script: (e) => void e.send([STREAM_HEAD, chunk('data: 1\n\n')]) })
  const [first, second] = [
    await RawClient.connect(squall.port),
    await RawClient.connect(squall.port),
  ]
  await first.send(OPEN_STREAM)
  await first.sees('data: 1')
  await second.send(OPEN_STREAM)
  await second.sees('data: 1')
  first.close()
  await app.connections[0]!.gone
  app.connections[1]!.socket.write(chunk('data: 2\n\n'))
  expect(await second.sees('data: 2')).toBe(true)
  second.close()
})

test.each([
  ['before a byte of the response', ''],
  ['inside the head', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ['after the head', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'],
  ['inside a body with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
  ['inside a chunked body', `${STREAM_HEAD}8\r\ndata`],
  ['between chunks', `${STREAM_HEAD}5\r\ndata:\r\n`],
  ['inside a body without an end', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf'],
])('a reset by the upstream %s is a reset for the client', async (_stage, bytes) => {
  await start({
    script: async (e) => {
      if (bytes !== '') await e.write(bytes)
      await e.resetAfterReads()
    },
  })
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1), 'POST')
  expect(await client.gone).toBe('reset')
  expect(client.responses.filter((given) => given.complete)).toEqual([])
  expect(app.requests).toHaveLength(1)
})

test.each([
  ['a body with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
  ['a chunked body', `${STREAM_HEAD}8\r\ndata`],
  ['a chunked body, between chunks', `${STREAM_HEAD}5\r\ndata:\r\n`],
])(
  'a close by the upstream inside %s is a cut for the client, not an end',
  async (_stage, bytes) => {
    await start({
      script: async (e) => {
        await e.write(bytes)
        e.fin()
      },
    })
    const client = await RawClient.connect(squall.port)
    await client.send(toolCall(1), 'POST')
    await client.gone
    expect(client.responses.map((given) => given.complete)).toEqual([false])
    expect(app.requests).toHaveLength(1)
  },
)

test.each(['before a byte of the response', 'inside the head'])(
  'a close by the upstream %s is no response, or one of Squall, and nothing is sent twice',
  async (stage) => {
    await start({
      script: async (e) => {
        if (stage === 'inside the head') await e.write('HTTP/1.1 200 OK\r\nContent-Le')
        e.fin()
      },
    })
    const client = await RawClient.connect(squall.port)
    await client.send(toolCall(1), 'POST')
    const given = await client.response()
    client.close()
    expect(given?.status ?? 502).toBe(502)
    expect(app.requests).toHaveLength(1)
  },
)

test('when the upstream dies and comes back, the next call works', async () => {
  await start({ script: (e) => void e.write(response('200 OK', [], 'first life')) })
  const client = await RawClient.connect(squall.port)
  await client.send(toolCall(1), 'POST')
  expect((await client.response(0))?.body.toString()).toBe('first life')
  await app.close()
  await client.send(toolCall(2), 'POST')
  const during = await client.response(1)
  expect(during?.status ?? 502).toBe(502)
  client.close()
  app = await startUpstream({
    port: app.port,
    script: (e) => void e.write(response('200 OK', [], 'second life')),
  })
  const next = await RawClient.connect(squall.port)
  await next.send(toolCall(3), 'POST')
  expect((await next.response())?.body.toString()).toBe('second life')
  next.close()
})
