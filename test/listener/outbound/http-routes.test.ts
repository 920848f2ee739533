import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { ServerOptions } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import type { SidecarOptions } from '../../../src/listener/sidecar-options.ts'
import { closers } from '../../support/closers.ts'
import {
  call,
  callMessage,
  exchange,
  responding,
  startSidecar,
  startUpstream,
  tlsFile,
  tlsText,
  valuesOf,
} from '../../support/wire.ts'
import { endOf, refusal } from './carried.ts'

const opened = closers()
const LISTEN = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const

/** A dependency behind TLS, and what its clients asked for. */
async function dependency(options: ServerOptions = {}) {
  const hosts: (string | undefined)[] = []
  const names: unknown[] = []
  const respond = responding('{"jsonrpc":"2.0","id":1,"result":{}}')
  const material = { cert: tlsText('first.pem'), key: tlsText('first.key') }
  const app = await startUpstream(
    (req, res) => {
      hosts.push(req.headers.host)
      respond(req, res)
    },
    undefined,
    { ...material, ...options },
  )
  app.server.on('secureConnection', (socket: TLSSocket & { servername?: unknown }) =>
    names.push(socket.servername),
  )
  return { ...opened(app), hosts, names }
}

/** A sidecar with a route to the dependency. */
async function routeTo(port: number, more: Pick<SidecarOptions, 'outboundTls'> = {}) {
  const upstream = { kind: 'tcp', tls: true, host: 'localhost', port } as const
  const outboundPairs = [{ listen: LISTEN, upstream, isOutbound: true }]
  return opened(await startSidecar({ upstream: responding('own'), outboundPairs, ...more }))
}

test('a route to https gets the name and certificate check of the dependency', async () => {
  const app = await dependency()
  const squall = await routeTo(app.port, { outboundTls: { ca: tlsFile('ca.pem') } })
  const place = { host: '127.0.0.1', port: squall.ports[1]!, headers: { host: 'agent.local' } }
  expect((await call(place, callMessage(1))).status).toBe(200)
  expect(app.hosts).toEqual([`localhost:${app.port}`])
  expect(app.names).toEqual(['localhost'])
})

test('a dependency whose certificate is not trusted gets no request', async () => {
  const app = await dependency()
  const squall = await routeTo(app.port)
  const given = await call({ host: '127.0.0.1', port: squall.ports[1]! }, callMessage(1))
  expect(given.status).toBe(502)
  expect(app.hosts).toEqual([])
})

test('a rule with match.outbound acts on calls to that dependency alone', async () => {
  const app = opened(await startUpstream(responding('{"jsonrpc":"2.0","id":1,"result":{}}')))
  const upstream = { kind: 'tcp', tls: false, host: '127.0.0.1', port: app.port } as const
  const squall = opened(
    await startSidecar({
      upstream: responding('{"jsonrpc":"2.0","id":1,"result":{}}'),
      outboundPairs: [{ listen: LISTEN, upstream, isOutbound: true }],
      rules: [
        {
          name: 'dependency-fails',
          match: { tool: 'echo', outbound: { port: app.port } },
          faults: [{ fault: 'abort', config: { status: 503, at: 'request' } }],
        },
      ],
    }),
  )
  const status = async (port: number): Promise<number | undefined> =>
    (await call({ host: '127.0.0.1', port }, callMessage(1))).status
  expect(await status(squall.ports[0]!)).toBe(200)
  expect(await status(squall.ports[1]!)).toBe(503)
})

test.each([
  ['a URL as target', 'GET http://agent.local/a?b HTTP/1.1\r\nHost: agent.local', '/a?b'],
  ['a URL without a path', 'GET http://agent.local HTTP/1.1\r\nHost: agent.local', '/'],
  ['no Host', 'GET /a HTTP/1.1\r\nX-A: 1', '/a'],
  ['HTTP/1.0', 'GET /a HTTP/1.0', '/a'],
])('a request with %s names the dependency only', async (_what, lines, target) => {
  const app = opened(await startUpstream({}))
  const upstream = { kind: 'tcp', tls: false, host: 'localhost', port: app.port } as const
  const outboundPairs = [{ listen: LISTEN, upstream, isOutbound: true }]
  const squall = opened(await startSidecar({ upstream: responding('own'), outboundPairs }))
  const { response } = await exchange(squall.ports[1]!, `${lines}\r\n\r\n`)
  expect(response?.status).toBe(200)
  const [got] = app.requests
  expect(got?.target).toBe(target)
  expect(valuesOf(got!.headers, 'host')).toEqual([`localhost:${app.port}`])
})

test('an upgrade gets the name of the dependency', async () => {
  const hosts: (string | undefined)[] = []
  const app = opened(await startUpstream(responding('own')))
  app.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
    hosts.push(req.headers.host)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
  })
  const upstream = { kind: 'tcp', tls: false, host: 'localhost', port: app.port } as const
  const squall = opened(
    await startSidecar({
      upstream: responding('own'),
      outboundPairs: [{ listen: LISTEN, upstream, isOutbound: true }],
    }),
  )
  const asked = request({
    port: squall.ports[1]!,
    host: '127.0.0.1',
    headers: { connection: 'upgrade', upgrade: 'x' },
  })
  asked.end()
  const [, socket] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket]
  socket.destroy()
  expect(hosts).toEqual([`localhost:${app.port}`])
})

test('a connection that was not captured is rejected, and a drain ends', async () => {
  const target = { text: 'http://tools:1', host: 'tools', port: 1, isHttp: true }
  const squall = opened(
    await startSidecar({
      upstream: responding('own'),
      outbound: [{ listen: LISTEN, targets: [target], isCaptured: true }],
    }),
  )
  const socket = connect(squall.ports[1]!, '127.0.0.1').on('error', () => undefined)
  expect(await endOf(socket)).toBe('ECONNRESET')
  await squall.sidecar.drain()
  expect(await refusal(squall.ports[1]!)).toBe('ECONNREFUSED')
})

test('a listener that cannot be bound leaves no other one open', async () => {
  const taken = opened(await startUpstream(responding('own')))
  const free = await startUpstream(responding('own'))
  await free.close()
  const upstream = { kind: 'tcp', tls: false, host: 'localhost', port: 1 } as const
  const at = (port: number) => ({ ...LISTEN, port })
  const started = startSidecar({
    upstream: responding('own'),
    outboundPairs: [{ listen: at(free.port), upstream, isOutbound: true }],
    outbound: [
      {
        listen: at(taken.port),
        targets: [{ text: 'db:1', host: 'db', port: 1 }],
        isCaptured: false,
      },
    ],
  })
  await expect(started).rejects.toThrow('it is in use')
  expect(await refusal(free.port)).toBe('ECONNREFUSED')
})
