import { createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { call, callMessage, responding, startUpstream, tlsText } from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'

// An upstream that speaks TLS, and one that listens on loopback while the sidecar connects to the
// address of the pod, gave clients cut connections or 502, and whoever ran them nothing to go by.
const opened = closers()
const NAMED = 'the upstream is misconfigured'
const material = { cert: tlsText('first.pem'), key: tlsText('first.key') }
const own = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

async function listening(server: Server): Promise<number> {
  return opened(await startUpstream(server)).port
}

async function inFront(port: number, host = '127.0.0.1'): Promise<Squall> {
  return opened(await startSquall('--upstream', `http://${host}:${port}`))
}

async function ask(squall: Squall): Promise<number> {
  const options = { host: '127.0.0.1', port: squall.port }
  return call(options, callMessage(1)).then(
    ({ status }) => status,
    () => 0,
  )
}

async function named(squall: Squall): Promise<string> {
  const line = await squall.logged(NAMED)
  await squall.reaches('squall_rejected_total', { reason: 'upstream_misconfigured' }, 1)
  return `${String(line['reason'])}: ${String(line['detail'])}`
}

const SPEAKS =
  /^speaks_tls: the upstream at http:\/\/127\.0\.0\.1:\d+ speaks TLS.*squall\.dev\/upstream-tls/

describe('an upstream that speaks TLS and is sent plain HTTP is named', () => {
  test('where it closes the connection', async () => {
    const squall = await inFront(await listening(createTlsServer(material)))
    expect(await ask(squall)).toBe(0)
    expect(await named(squall)).toMatch(SPEAKS)
  })

  test('where it answers 400 to plain HTTP', async () => {
    const secure = createTlsServer(material)
    const port = await listening(
      createServer((socket: Socket) => {
        socket.on('error', () => undefined)
        socket.once('data', (first) => {
          socket.pause()
          socket.unshift(first)
          if (first[0] === 0x16) secure.emit('connection', socket)
          else socket.end('HTTP/1.0 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
        })
      }),
    )
    const squall = await inFront(port)
    expect(await ask(squall)).toBe(400)
    expect(await named(squall)).toMatch(SPEAKS)
  })

  test('where it answers with an alert', async () => {
    const alert = Buffer.from('15030300020246', 'hex')
    const port = await listening(
      createServer((socket) => {
        socket.on('error', () => undefined)
        socket.once('data', () => socket.end(alert))
      }),
    )
    const squall = await inFront(port)
    expect(await ask(squall)).toBe(502)
    expect(await named(squall)).toMatch(SPEAKS)
  })
})

test('an upstream that means its 400 is looked at once, and nothing is said', async () => {
  const app = opened(await startUpstream((_req, res) => void res.writeHead(400).end()))
  let broken = 0
  const looked = new Promise<void>((resolve) => {
    app.server.on('clientError', (_error, socket) => {
      broken++
      socket.destroy()
      resolve()
    })
  })
  const squall = await inFront(app.port)
  for (let i = 0; i < 5; i++) expect(await ask(squall)).toBe(400)
  await looked
  expect(await ask(squall)).toBe(400)
  expect(broken).toBe(1)
  expect(squall.logs.filter(({ msg }) => msg === NAMED)).toEqual([])
})

test.skipIf(own === undefined || process.platform !== 'linux')(
  'an upstream that listens on loopback alone is named where it is reached by another address',
  async () => {
    const app = opened(await startUpstream(responding('fine')))
    const squall = await inFront(app.port, own)
    expect(await ask(squall)).toBe(502)
    expect(await named(squall)).toMatch(
      /^loopback_only: the upstream listens on port \d+ of loopback only, .*squall\.dev\/upstream-host: 127\.0\.0\.1/,
    )
  },
)
