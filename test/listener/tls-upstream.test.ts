import { once } from 'node:events'
import type { ServerOptions } from 'node:https'
import { createServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { closers } from '../support/closers.ts'
import {
  call,
  type Called,
  callMessage,
  type HttpApp,
  responding,
  startUpstream,
  tlsFile,
  tlsText,
} from '../support/wire.ts'
import { type Squall, startProgram, startSquall } from '../support/commands.ts'

const opened = closers()
const trusting = ['--upstream-ca', tlsFile('ca.pem')]

interface TlsApp extends HttpApp {
  /** Names that clients requested in their handshakes, and their own common names. */
  readonly asked: (string | undefined)[]
  readonly clients: (string | undefined)[]
}

async function tlsApp(options: ServerOptions = {}): Promise<TlsApp> {
  const material = { cert: tlsText('first.pem'), key: tlsText('first.key') }
  const app = await startUpstream(responding('secret'), undefined, { ...material, ...options })
  const asked: (string | undefined)[] = []
  const clients: (string | undefined)[] = []
  app.server.on('secureConnection', (socket: TLSSocket & { servername?: string | false }) => {
    asked.push(socket.servername === false ? undefined : socket.servername)
    const { subject } = socket.getPeerCertificate()
    clients.push((subject as { CN?: string } | undefined)?.CN)
  })
  return { ...opened(app), asked, clients }
}

async function inFront(port: number, ...flags: string[]): Promise<Squall> {
  return opened(await startSquall('--upstream', `https://127.0.0.1:${port}`, ...flags))
}

async function ask(squall: Squall): Promise<Called> {
  return call(
    { host: '127.0.0.1', port: squall.port, headers: { host: 'mcp.example' } },
    callMessage(1),
  )
}

async function unreachable(squall: Squall, says: RegExp): Promise<void> {
  const given = await ask(squall)
  expect(given.text).toMatch(says)
  expect(given.status).toBe(502)
  expect(given.headers['x-squall-error']).toBe('upstream_unreachable')
  expect(await squall.metric('squall_rejected_total', { reason: 'upstream_unreachable' })).toBe(1)
  expect((await squall.logged('responded instead of the upstream'))['detail']).toMatch(says)
}

describe('the upstream', () => {
  test('is trusted by the CA given', async () => {
    const app = await tlsApp()
    const squall = await inFront(app.port, ...trusting)
    const given = await ask(squall)
    expect([given.status, given.text]).toEqual([200, expect.stringContaining('secret')])
    expect(app.asked).toEqual([undefined])
    expect((await squall.readiness()).ready).toBe(true)
  })

  test('is not trusted by the usual CAs', async () => {
    const app = await tlsApp()
    const squall = await inFront(app.port, '--rules', '/nowhere/rules.yaml')
    await unreachable(squall, /certificate/)
    const { ready, reason } = await squall.readiness()
    expect(ready).toBe(false)
    expect(reason).toMatch(
      /^https:\/\/127\.0\.0\.1:\d+ has a certificate that is not trusted \(.+\): pass its CA with --upstream-ca/,
    )
    const checked = await startProgram(
      ['check', '--sidecar', squall.admin.slice('http://'.length)],
      {},
      { here: true },
    )
    expect(checked.stdout).toContain('pass its CA with --upstream-ca')
  })

  test('is not trusted by another CA', async () => {
    const app = await tlsApp()
    await unreachable(
      await inFront(app.port, '--upstream-ca', tlsFile('second.pem')),
      /certificate/,
    )
  })

  test('is connected to by the given server name', async () => {
    const app = await tlsApp()
    const squall = await inFront(app.port, ...trusting, '--upstream-servername', 'localhost')
    expect((await ask(squall)).status).toBe(200)
    expect(app.asked).toEqual(['localhost'])
  })

  test('must have the name given', async () => {
    const app = await tlsApp()
    await unreachable(
      await inFront(app.port, ...trusting, '--upstream-servername', 'other.example'),
      /does not match certificate's altnames/,
    )
  })

  test('may be anybody with --upstream-insecure', async () => {
    const app = await tlsApp()
    expect((await ask(await inFront(app.port, '--upstream-insecure'))).status).toBe(200)
  })

  test('that speaks no TLS is reported as unreachable', async () => {
    const app = opened(await startUpstream(responding('plain')))
    await unreachable(await inFront(app.port, ...trusting), /SSL routines/)
  })

  test.each([
    ['closes', (socket: Socket) => void socket.end()],
    ['resets', (socket: Socket) => void socket.resetAndDestroy()],
  ])(
    'that %s the connection during the handshake is reported as unreachable',
    async (_way, leave) => {
      const app = createServer((socket) => {
        socket.on('error', () => undefined).once('data', () => leave(socket))
      })
      const { port } = opened(await startUpstream(app))
      await unreachable(await inFront(port, ...trusting), /./)
    },
  )
})

describe('a certificate of its own', () => {
  const demanding = { ca: tlsText('ca.pem'), requestCert: true, rejectUnauthorized: true }

  test('is shown to the upstream', async () => {
    const app = await tlsApp(demanding)
    const own = ['--upstream-cert', tlsFile('second.pem'), '--upstream-key', tlsFile('second.key')]
    const given = await ask(await inFront(app.port, ...trusting, ...own))
    expect([given.status, given.text]).toEqual([200, expect.stringContaining('secret')])
    expect(app.clients).toEqual(['second'])
  })

  test('that is missed by the upstream ends the connection as the upstream does', async () => {
    const app = await tlsApp(demanding)
    const squall = await inFront(app.port, ...trusting)
    // With TLS 1.3 the upstream sees that it misses something only after the handshake.
    await expect(ask(squall)).rejects.toThrow('socket hang up')
    await squall.reaches('squall_calls_total', { outcome: 'reset', origin: 'real' }, 1)
    expect(app.clients).toEqual([])
    const { detail } = await squall.logged('the upstream ended the connection')
    expect(detail).toMatch(/certificate required.*; set --upstream-cert and --upstream-key$/)
  })
})

test('WebSockets pass with TLS on both sides, whatever host the client asked for', async () => {
  const app = await tlsApp()
  new WebSocketServer({ server: app.server }).on('connection', (ws) =>
    ws.on('message', (data) => ws.send(`echo ${(data as Buffer).toString()}`)),
  )
  const own = ['--tls-cert', tlsFile('second.pem'), '--tls-key', tlsFile('second.key')]
  const squall = await inFront(app.port, ...trusting, ...own)
  const client = new WebSocket(`wss://127.0.0.1:${squall.port}/ws`, {
    ca: tlsText('ca.pem'),
    headers: { host: 'mcp.example' },
  })
  await once(client, 'open')
  client.send('hello')
  const [data] = (await once(client, 'message')) as [Buffer]
  expect(data.toString()).toBe('echo hello')
  expect(await squall.metric('squall_connections', { kind: 'tunnel' })).toBe(1)
  client.close(4001)
  const [code] = (await once(client, 'close')) as [number]
  expect(code).toBe(4001)
})
