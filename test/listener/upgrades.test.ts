import { createServer, type IncomingMessage, type Server } from 'node:http'
import { connect, createServer as createNetServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { afterReads, type RunningSidecar, startSidecar, startUpstream } from '../support/wire.ts'

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

const OFFER = 'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

/** Deprecations too, which Node reports once in a process, with the first upgrade. */
const warnings: Error[] = []
process.on('warning', (warning) => warnings.push(warning))
afterAll(() => expect(warnings).toEqual([]))

async function listen(server: Server): Promise<string> {
  const { url, close } = await startUpstream(server)
  open.push(close)
  return url
}

async function inFront(upstream: string): Promise<RunningSidecar> {
  const sidecar = await startSidecar({ upstream })
  open.push(() => sidecar.close())
  return sidecar
}

async function rawUpgrade(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  open.push(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

async function readUntil(socket: Socket, marker: string): Promise<string> {
  let text = ''
  while (!text.includes(marker)) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    text += chunk.toString('latin1')
  }
  return text
}

/**
 * An upstream that upgrades, with these lines in its response, and the first request that it gets.
 */
async function upgrading(lines = ''): Promise<{ url: string; seen: Promise<IncomingMessage> }> {
  const app = createServer()
  const seen = new Promise<IncomingMessage>((resolve) => {
    app.on('upgrade', (req, socket) => {
      resolve(req)
      socket.end(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n${lines}\r\n`)
    })
  })
  return { url: await listen(app), seen }
}

describe('WebSocket', () => {
  test('messages pass both ways and the close code arrives', async () => {
    const app = createServer()
    const sockets = new WebSocketServer({ server: app })
    sockets.on('connection', (ws) =>
      ws.on('message', (data) => ws.send(`echo ${(data as Buffer).toString()}`)),
    )
    const sidecar = await inFront(await listen(app))
    const client = new WebSocket(`${sidecar.url.replace('http', 'ws')}/a//b?x=1`)
    await once(client, 'open')
    client.send('hello')
    const [data] = (await once(client, 'message')) as [Buffer]
    expect(String(data)).toBe('echo hello')
    expect(await sidecar.metrics()).toContain('squall_connections{kind="tunnel"} 1')
    client.close(4001, 'done')
    const [code] = (await once(client, 'close')) as [number]
    expect(code).toBe(4001)
  })

  test('the upstream sees the request line and the header lines as the client wrote them', async () => {
    const { url, seen } = await upgrading('X-CaSe: Kept\r\n')
    const sidecar = await inFront(url)
    const client = await rawUpgrade(
      sidecar.port,
      'GET /a//b?q=%20 HTTP/1.1\r\nhOsT: example\r\nX-Twice: 1\r\nConnection: Upgrade\r\n' +
        'Upgrade: websocket\r\nX-Twice: 2\r\n\r\n',
    )
    const req = await seen
    expect(req.url).toBe('/a//b?q=%20')
    expect(req.rawHeaders).toContain('hOsT')
    expect(req.rawHeaders.filter((_, i) => req.rawHeaders[i - 1] === 'X-Twice')).toEqual(['1', '2'])
    expect(await readUntil(client, '\r\n\r\n')).toContain('X-CaSe: Kept')
  })

  test('an upgrade that announces trailers, which cannot follow, reaches the upstream without them', async () => {
    const { url, seen } = await upgrading()
    const sidecar = await inFront(url)
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: a\r\nTrailer: x-t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    expect((await seen).rawHeaders).toEqual([
      'Host',
      'a',
      'Connection',
      'Upgrade',
      'Upgrade',
      'websocket',
    ])
    expect(await readUntil(client, '\r\n\r\n')).toContain('101 Switching Protocols')
  })

  test.each(['fast', 'standard'] as const)(
    'a declined offer leaves the connection open for the next requests (%s)',
    async (engine) => {
      const app = createServer((req, res) => {
        if (req.headers.upgrade === undefined) res.end(`plain ${req.url}`)
        else res.writeHead(401, { 'X-CaSe': 'Kept' }).end('sorry'.repeat(100_000))
      })
      // Without this listener node:http takes an offer for an ordinary request.
      const sidecar = await startSidecar({ upstream: await listen(app), engine })
      open.push(() => sidecar.close())
      const offer = `GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
      const client = await rawUpgrade(sidecar.port, offer)
      for (const path of ['/a', '/b']) {
        const declined = await readUntil(client, 'sorry\r\n0\r\n\r\n')
        expect(declined).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/)
        expect(declined).toContain('X-CaSe: Kept')
        expect(declined.toLowerCase()).not.toContain('connection: close')
        // The next request and the next offer come in one piece.
        client.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n${offer}`)
        expect(await readUntil(client, `plain ${path}`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      }
      await readUntil(client, 'sorry\r\n0\r\n\r\n')
      expect(await sidecar.metrics()).toContain('squall_connections{kind="tunnel"} 0')
    },
  )

  test('requests behind a declined offer are read as what they are', async () => {
    const seen: string[] = []
    const app = createServer((req, res) => {
      seen.push(`${req.method} ${req.url}`)
      res.end('ok')
    })
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n' +
        'GET /next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
    )
    let text = ''
    client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    await once(client, 'close')
    expect(seen).toEqual(['GET /ws', 'GET /next'])
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  })

  test('a declined offer with a body, which might be read in two ways, ends the connection', async () => {
    const app = createServer((_req, res) => res.end('no'))
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'GET /ws HTTP/1.1\r\nHost: h\r\nContent-Length: 34\r\nConnection: Upgrade\r\n' +
        'Upgrade: websocket\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h\r\n\r\n',
    )
    let text = ''
    client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    await once(client, 'close')
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1)
  })

  test('an upstream that breaks off a declined offer breaks off its response', async () => {
    const app = createServer((_req, res) => {
      res.writeHead(403, { 'Content-Length': '10' }).write('abc')
      setImmediate(() => res.destroy())
    })
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    let text = ''
    client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    await once(client, 'close')
    expect(text.endsWith('abc')).toBe(true)
  })

  test('headers that only Squall may write are renamed in the response to an upgrade', async () => {
    const { url } = await upgrading('X-Squall-Fault: forged\r\n')
    const sidecar = await inFront(url)
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    const text = (await readUntil(client, '\r\n\r\n')).toLowerCase()
    expect(text).toContain('x-upstream-squall-fault: forged')
    expect(text).not.toContain('\r\nx-squall-fault')
  })

  test('a client of HTTP/1.0 gets an ordinary response to its upgrade whole, and the end of its connection', async () => {
    const app = createServer()
    app.on('upgrade', (_req, socket) => {
      socket.end(
        'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nTransfer-Encoding: chunked\r\n\r\n' +
          '5\r\nsorry\r\n0\r\n\r\n',
      )
    })
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.0\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    let text = ''
    client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    await once(client, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/)
    expect(text).toContain('WWW-Authenticate: Bearer')
    expect(text.toLowerCase()).not.toContain('transfer-encoding')
    expect(text.endsWith('\r\n\r\nsorry')).toBe(true)
  })

  test('an upstream that breaks off a response that ends the connection resets it', async () => {
    const app = createServer()
    app.on('upgrade', (_req, socket) => {
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nabc')
      void afterReads().then(() => socket.destroy())
    })
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.0\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNRESET')
  })

  test('an upstream that is down gives a 502 of Squall', async () => {
    const sidecar = await inFront('http://127.0.0.1:1')
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    const text = await readUntil(client, '}}')
    expect(text).toMatch(/^HTTP\/1\.1 502 /)
    expect(text).toContain('x-squall-error: upstream_unreachable')
  })

  test('a client that leaves before the response leaves nothing open', async () => {
    const upstream = createServer()
    const offered = once(upstream, 'upgrade') as Promise<[IncomingMessage, Socket]>
    const sidecar = await inFront(await listen(upstream))
    const client = await rawUpgrade(sidecar.port, OFFER)
    const [, socket] = await offered
    const ended = once(socket, 'close')
    socket.resume()
    socket.on('end', () => socket.end())
    client.end()
    await ended
    const metrics = await sidecar.metrics()
    expect(metrics).toContain('squall_connections{kind="tunnel"} 0')
    expect(metrics).toContain('{class="upgrade",code="none",origin="real"} 1')
  })

  test('the time to connect is limited', async () => {
    // It accepts, but begins no TLS.
    const silent = await startUpstream(createNetServer())
    open.push(silent.close)
    const upstream = silent.url.replace('http:', 'https:')
    const sidecar = await startSidecar({ upstream, connectTimeout: 100 })
    open.push(() => sidecar.close())
    const client = await rawUpgrade(sidecar.port, OFFER)
    expect(await readUntil(client, '}}')).toContain('no connection within 100 ms')
  })

  test('a client that leaves while the upstream is dialled ends the dial', async () => {
    const silent = createNetServer()
    const dialled = once(silent, 'connection') as Promise<[Socket]>
    const { url, close } = await startUpstream(silent)
    open.push(close)
    const upstream = url.replace('http:', 'https:')
    const sidecar = await startSidecar({ upstream, connectTimeout: 600_000 })
    open.push(() => sidecar.close())
    const client = await rawUpgrade(sidecar.port, OFFER)
    const [socket] = await dialled
    client.end()
    await once(socket.resume(), 'end')
    socket.destroy()
  })

  test('the head of a response passes byte for byte', async () => {
    const lines = `Connection: upgrade\r\nUpgrade: ws\r\nX-A: 1\r\nY: \xe9\r\nx-a: ${'b'.repeat(20_000)}\r\n`
    const head = `HTTP/1.1 101 Moved \xe9\r\n${lines}\r\n`
    const upstream = createServer().on('upgrade', (_req, socket) => socket.write(head, 'latin1'))
    const sidecar = await inFront(await listen(upstream))
    const client = await rawUpgrade(sidecar.port, OFFER)
    expect(await readUntil(client, '\r\n\r\n')).toBe(head)
  })

  test('bytes pass in one direction after the end of the other', async () => {
    const upstream = createServer()
    const offered = once(upstream, 'upgrade') as Promise<[IncomingMessage, Socket]>
    const sidecar = await inFront(await listen(upstream))
    const client = connect({ port: sidecar.port, host: '127.0.0.1', allowHalfOpen: true })
    open.push(() => void client.destroy())
    client.write(OFFER)
    const [, socket] = await offered
    socket.end('HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    client.resume()
    await once(client, 'end')
    client.end('after the end')
    expect(await readUntil(socket, 'end')).toBe('after the end')
  })

  test.each([
    [
      'resets',
      'reset',
      (socket: Socket) => socket.resetAndDestroy(),
      '',
      'code="none",origin="real"',
    ],
    ['closes', 'close', (socket: Socket) => socket.end(), '', 'code="none",origin="real"'],
    [
      'sends no HTTP',
      '502',
      (socket: Socket) => socket.end('SSH-2.0-x\r\n'),
      'x-squall-error: upstream_protocol',
      'code="502",origin="squall"',
    ],
  ])('an upstream that %s before its response gives a %s', async (_, ends, act, part, counted) => {
    const upstream = createServer().on('upgrade', (_req, socket: Socket) => act(socket))
    const sidecar = await inFront(await listen(upstream))
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    let text = ''
    let wasReset = false
    client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    client.on('error', () => (wasReset = true))
    await new Promise((resolve) => client.once('close', resolve))
    expect(wasReset).toBe(ends === 'reset')
    expect(text).toContain(part)
    if (part === '') expect(text).toBe('')
    expect(await sidecar.metrics()).toContain(`{class="upgrade",${counted}} 1`)
  })
})

describe('other upgrades', () => {
  test('a protocol of its own passes', async () => {
    const app = createServer()
    app.on('upgrade', (_req, socket, head: Buffer) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: acme/7\r\nConnection: Upgrade\r\n\r\n',
      )
      socket.write(head)
      socket.pipe(socket)
    })
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: acme/7\r\n\r\nfirst',
    )
    expect(await readUntil(client, 'first')).toContain('Upgrade: acme/7')
    client.write('second')
    expect(await readUntil(client, 'second')).toBe('second')
  })

  test('an offer of h2c is ignored and the request continues with its body', async () => {
    const app = createServer((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () =>
        res.end(`${req.headers.upgrade ?? 'none'} ${Buffer.concat(chunks).toString()}`),
      )
    })
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(
      sidecar.port,
      'POST /mcp HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n' +
        'HTTP2-Settings: AAEAAEAA\r\nContent-Length: 5\r\n\r\nhello',
    )
    expect(await readUntil(client, 'hello')).toContain('none hello')
    client.write('GET /again HTTP/1.1\r\nHost: h\r\n\r\n')
    expect(await readUntil(client, 'none ')).toMatch(/^HTTP\/1\.1 200/)
    expect(await sidecar.metrics()).toContain('squall_connections{kind="client"} 1')
  })

  test('a connection that offers h2c with each request keeps nothing of the offers', async () => {
    const app = createServer((req, res) => res.end(`${req.headers.upgrade ?? 'none'} ${req.url}`))
    const sidecar = await inFront(await listen(app))
    const client = await rawUpgrade(sidecar.port, '')
    for (let n = 0; n < 30; n++) {
      client.write(
        `GET /${n} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\n` +
          'Upgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n\r\n',
      )
      expect(await readUntil(client, `none /${n}`)).toMatch(/^HTTP\/1\.1 200/)
    }
    // Node warns of the eleventh listener for an event.
    expect(warnings).toEqual([])
  })
})
