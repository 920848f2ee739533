import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { startSquall } from '../support/commands.ts'
import { startUpstream } from '../support/wire.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface Asked {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A minimal gRPC server whose responses the test chooses. */
async function grpcApp(
  response: (stream: ServerHttp2Stream) => void,
): Promise<{ port: number; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer()
  server.on('stream', (stream, headers) => {
    const parts: Buffer[] = []
    stream.on('data', (part: Buffer) => parts.push(part))
    stream.on('error', () => undefined)
    stream.on('end', () => {
      asked.push({ headers, body: Buffer.concat(parts).toString('hex') })
      response(stream)
    })
  })
  const { port, close } = await startUpstream(server)
  closers.push(close)
  return { port, asked }
}

/** A response with a message, as hex, and a status at its end. */
function reply(message: string, status = '0'): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc' },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
    const head = Buffer.alloc(5)
    head.writeUInt32BE(message.length / 2, 1)
    stream.end(Buffer.concat([head, Buffer.from(message, 'hex')]))
  }
}

async function ask(
  response: (stream: ServerHttp2Stream) => void,
  timeoutSeconds = 30,
): Promise<readonly unknown[]> {
  const { port } = await grpcApp(response)
  const stage = await startSquall({
    admin: { appProbes: { 'app/readyz': { grpc: { port }, timeoutSeconds } } },
  })
  closers.push(() => stage.close())
  return stage.probe('app/readyz')
}

test('a service that is serving is healthy, and is queried by its name', async () => {
  const { port, asked } = await grpcApp(reply('0801'))
  const long = 'é'.repeat(100)
  const stage = await startSquall({
    admin: {
      appProbes: {
        'app/readyz': { grpc: { port, service: 'mcp' } },
        'app/livez': { grpc: { port } },
        'app/startupz': { grpc: { port, service: long } },
      },
    },
  })
  closers.push(() => stage.close())
  for (const probe of ['readyz', 'livez', 'startupz']) {
    expect(await stage.probe(`app/${probe}`)).toEqual([200, 'the service is SERVING'])
  }
  expect(asked[0]!.headers).toMatchObject({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Check',
    ':authority': `127.0.0.1:${port}`,
    'content-type': 'application/grpc',
    'user-agent': 'kube-probe/1.33',
    te: 'trailers',
  })
  expect(asked[0]!.body).toBe('00000000050a036d6370')
  expect(asked[1]!.body).toBe('0000000000')
  expect(asked[2]!.body).toBe(`00000000cb0ac801${Buffer.from(long).toString('hex')}`)
})

test.each([
  ['0802', 'the service is NOT_SERVING'],
  ['0803', 'the service is SERVICE_UNKNOWN'],
  ['', 'the service is UNKNOWN'],
  ['1202aaaa0802', 'the service is NOT_SERVING'],
  ['08', 'the response of the health service is malformed'],
  ['0d00000000', 'the response of the health service is malformed'],
])('the message %s is not well: %s', async (message, why) => {
  expect(await ask(reply(message))).toEqual([502, why])
})

test('an error of gRPC is reported with its message', async () => {
  const unimplemented = (stream: ServerHttp2Stream): void =>
    stream.respond(
      { ':status': 200, 'grpc-status': '12', 'grpc-message': 'unknown%20service' },
      { endStream: true },
    )
  expect(await ask(unimplemented)).toEqual([502, 'gRPC status 12: unknown service'])
  expect(await ask(reply('0801', '14'))).toEqual([502, 'gRPC status 14'])
  expect(await ask((stream) => stream.respond({ ':status': 404 }, { endStream: true }))).toEqual([
    502,
    'the upstream responded with 404 to gRPC',
  ])
  expect(await ask(reply('08'.repeat(5000)))).toEqual([502, 'the response is too long'])
})

test('an upstream that speaks something else, or nothing, fails', async () => {
  const server = await startUpstream(
    createTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  )
  const { port } = server
  const stage = await startSquall({ admin: { appProbes: { 'app/readyz': { grpc: { port } } } } })
  closers.push(() => stage.close())
  expect((await stage.probe('app/readyz'))[0]).toBe(502)
  await server.close()
  expect(await stage.probe('app/readyz')).toEqual([502, `connect ECONNREFUSED 127.0.0.1:${port}`])
  expect(await ask(() => undefined, 1)).toEqual([502, 'no response within 1000 ms'])
})
