import { once } from 'node:events'
import { request as requestTls } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import {
  type AppExchange,
  call,
  callMessage,
  chunk,
  handshake,
  type Place,
  post,
  responding,
  startUpstream,
  STREAM_HEAD,
  textOf,
  tlsFile,
  tlsText,
  toolCall,
} from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'

const opened = closers()

async function inFront(port: number, ...flags: string[]): Promise<Squall & { place: Place }> {
  const tls = ['--tls-cert', tlsFile('first.pem'), '--tls-key', tlsFile('first.key')]
  const squall = await startSquall('--upstream', `http://127.0.0.1:${port}`, ...tls, ...flags)
  opened(squall)
  return { ...squall, place: { host: '127.0.0.1', port: squall.port, ca: tlsText('ca.pem') } }
}

/** Not by `once`, which an error would end before. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('close', () => resolve())
  })
}

test('calls pass', async () => {
  const app = opened(await startUpstream(responding('hello')))
  const squall = await inFront(app.port)
  const given = await call(squall.place, callMessage(7))
  expect(given.status).toBe(200)
  expect(JSON.parse(given.text)).toMatchObject({ id: 7, result: { content: [{ text: 'hello' }] } })
  expect(await squall.metric('squall_calls_total', { outcome: 'ok', origin: 'real' })).toBe(1)
})

test('events arrive one by one, and the upstream learns that a client left', async () => {
  let responded: (res: ServerResponse) => void
  const response = new Promise<ServerResponse>((resolve) => (responded = resolve))
  const app = opened(
    await startUpstream((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: 1\n\n')
      responded(res)
    }),
  )
  const squall = await inFront(app.port)
  const stream = await post(squall.place, callMessage(1))
  const [first] = (await once(stream, 'data')) as [Buffer]
  expect(first.toString()).toBe('data: 1\n\n')
  const res = await response
  res.write('data: 2\n\n')
  const [second] = (await once(stream, 'data')) as [Buffer]
  expect(second.toString()).toBe('data: 2\n\n')
  const left = once(res, 'close')
  stream.destroy()
  await left
  await squall.reaches('squall_calls_total', { outcome: 'abandoned' }, 1)
})

const cuts: readonly [string, (exchange: AppExchange) => void, string | undefined][] = [
  ['reset', (exchange) => void exchange.resetAfterReads(), 'ECONNRESET'],
  ['close', (exchange) => exchange.fin(), undefined],
]

test.each(cuts)(
  'a %s by the upstream within a response is one for the client',
  async (_way, cut, code) => {
    const app = await startUpstream({
      script: async (exchange) => {
        await exchange.send([STREAM_HEAD, chunk('data: 1\n\n')])
        cut(exchange)
      },
    })
    opened(app)
    const squall = await inFront(app.port)
    const client = await handshake(squall.port)
    let error: NodeJS.ErrnoException | undefined
    let text = ''
    client
      .on('error', (err) => (error = err))
      .on('data', (bytes: Buffer) => (text += bytes.toString()))
    client.write(toolCall(1))
    await closed(client)
    expect(text).toContain('data: 1')
    expect(text).not.toContain('0\r\n\r\n')
    expect(error?.code).toBe(code)
  },
)

test('what is not TLS is cut and counted, and the others are served', async () => {
  const app = opened(await startUpstream(responding('fine')))
  const squall = await inFront(app.port)
  const plain = connect(squall.port, '127.0.0.1')
  plain.on('error', () => undefined)
  let text = ''
  plain.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
  plain.write(toolCall(1))
  await closed(plain)
  expect(text).not.toContain('fine')
  expect((await call(squall.place, callMessage(1))).status).toBe(200)
  const rejected = { reason: 'bad_request' }
  expect(await squall.metric('squall_rejected_total', rejected)).toBe(1)
  // Probes of the port send nothing.
  const probe = connect(squall.port, '127.0.0.1').end()
  await closed(probe.resume())
  expect((await call(squall.place, callMessage(2))).status).toBe(200)
  expect(await squall.metric('squall_rejected_total', rejected)).toBe(1)
})

test('a client that says nothing is cut after the time for a head', async () => {
  const squall = await inFront(9, '--header-timeout', '300ms')
  const silent = connect(squall.port, '127.0.0.1')
  silent.on('error', () => undefined).resume()
  await closed(silent)
  expect(await squall.metric('squall_rejected_total', { reason: 'slow_client' })).toBe(1)
})

test('a large upload and a large response pass whole', async () => {
  const app = await startUpstream((req: IncomingMessage, res) => void req.pipe(res))
  opened(app)
  const squall = await inFront(app.port)
  const body = 'x'.repeat(6 * 1024 * 1024)
  const req = requestTls({ ...squall.place, method: 'PUT', path: '/echo', agent: false })
  req.end(body)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  expect((await textOf(res)) === body).toBe(true)
})
