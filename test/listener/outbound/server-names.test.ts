import { once } from 'node:events'
import { connect as connectTls, createServer, type TLSSocket } from 'node:tls'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { serverNameIn } from '../../../src/listener/outbound/client-hello.ts'
import { closers } from '../../support/closers.ts'
import { startSidecar, startUpstream, tlsText } from '../../support/wire.ts'
import { connectionRule, endOf } from './carried.ts'

const opened = closers()

test('a rule about a server name resets TLS connections with that name alone', async () => {
  const server = createServer({ cert: tlsText('first.pem'), key: tlsText('first.key') })
  server.on('secureConnection', (socket) => socket.on('error', () => undefined).end('hello'))
  const { port } = opened(await startUpstream(server))
  const squall = opened(
    await startSidecar({
      upstream: (_req: unknown, res: { end(): void }) => res.end(),
      rules: [connectionRule({ reset: true }, { sni: '*.blocked.example' })],
      outbound: [
        {
          listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
          targets: [{ text: 'api', host: '127.0.0.1', port }],
          isCaptured: false,
        },
      ],
    }),
  )
  const open = (servername: string): TLSSocket =>
    connectTls({
      port: squall.ports[1]!,
      host: '127.0.0.1',
      servername,
      ca: tlsText('ca.pem'),
      checkServerIdentity: () => undefined,
    }).on('error', () => undefined)
  const free = open('free.example')
  expect(String((await once(free, 'data'))[0])).toBe('hello')
  expect(await endOf(open('api.blocked.example'))).toBe('ECONNRESET')
})

test('a ClientHello in many small records is given up at once', () => {
  const records = Buffer.concat(
    Array.from({ length: 2_700 }, () => Buffer.from([22, 3, 1, 0, 1, 1])),
  )
  expect(serverNameIn(records)).toBeNull()
})

test('bytes that are no ClientHello have no server name, and never throw', () => {
  expect(serverNameIn(Buffer.from('GET / HTTP/1.1\r\n'))).toBeNull()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      for (const start of [[], [22, 3, 1], [22, 3, 1, 0, 90, 1, 0, 0, 86]]) {
        const name = serverNameIn(Buffer.from([...start, ...bytes]))
        expect(name === null || name === undefined || /^[\w.-]+$/.test(name)).toBe(true)
      }
    }),
  )
})
