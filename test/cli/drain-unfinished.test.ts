// part: slow
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AppExchange,
  chunk,
  handshake,
  metricOf,
  OPEN_STREAM,
  type RawApp,
  RawClient,
  response,
  startUpstream,
  STREAM_HEAD,
  tlsFile,
  toolCall,
  valueOf,
} from '../support/wire.ts'
import { portOf, type Program, startProgram } from '../support/commands.ts'

const opened = closers()
const CALLS = 500
const STREAMS = 200
const HALVES = 50
const OK = response('200 OK', ['Content-Type', 'application/json'], '{}')

interface Stand {
  readonly app: RawApp
  readonly program: Program
  readonly port: number
  /** POSTs without a response from the upstream. */
  readonly held: AppExchange[]
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>
}

async function stand(...flags: string[]): Promise<Stand> {
  const held: AppExchange[] = []
  const app = opened(
    await startUpstream({
      keepBytes: false,
      script: async (each) => {
        if (each.request.method === 'GET') await each.send([STREAM_HEAD, chunk('data: 1\n\n')])
        else held.push(each)
      },
    }),
  )
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--upstream', app.url]
  const program = startProgram(['run', ...places, '--drain-timeout', '5m', ...flags])
  opened({ close: () => program.kill() })
  const admin = String((await program.logged('admin listening'))['address'])
  return {
    app,
    program,
    port: portOf(program.lines[0]!),
    held,
    metric: async (name, labels) =>
      metricOf(await (await fetch(`http://${admin}/metrics`)).text(), name, labels),
  }
}

async function client({ port }: Stand): Promise<RawClient> {
  return opened(await RawClient.connect(port))
}

async function sigterm({ program }: Stand): Promise<void> {
  program.signal('SIGTERM')
  await program.logged('draining; a second signal exits at once')
}

async function accepted({ metric }: Stand, count: number): Promise<void> {
  await eventually(async () => {
    const now = await metric('squall_connections', { kind: 'client' })
    return now === count ? undefined : `${now} of ${count} connections are accepted`
  })
}

async function asked({ held }: Stand, count: number): Promise<void> {
  await eventually(() =>
    held.length === count ? undefined : `the upstream has ${held.length} calls`,
  )
}

/** Nobody waits for the time of the drain, which is five minutes. */
async function endsByItself({ program }: Stand): Promise<void> {
  expect(await program.ended).toEqual({ code: 0, signal: null })
  expect(program.stderr()).toBe('')
}

/**
 * A pod ends while clients are in the middle of sending. A request that has begun to arrive was
 * sent in good faith to a pod that was ready: to drop the rest of it leaves the client without a
 * response, and the drain waiting for a request that will never be whole.
 */
describe('at SIGTERM', () => {
  test('whole calls, streams and requests that have half arrived are all finished', async () => {
    const at = await stand()
    const { app, held } = at
    const streams = await clients(at, STREAMS)
    await Promise.all(streams.map((each) => each.send(OPEN_STREAM, 'GET')))
    for (const each of streams) expect(await each.sees('data: 1')).toBe(true)
    const calls = await clients(at, CALLS)
    await Promise.all(calls.map((each, id) => each.send(toolCall(id), 'POST')))
    await app.received(STREAMS + CALLS)
    const halves = await clients(at, HALVES)
    await accepted(at, STREAMS + CALLS + HALVES)
    const cuts = halves.map((_, index) => cutRequest(index))
    await Promise.all(halves.map((each, index) => each.send(cuts[index]![0], 'POST')))
    await sigterm(at)
    await Promise.all(halves.map((each, index) => each.send(cuts[index]![1])))
    await asked(at, CALLS + HALVES)
    for (const each of held) await each.write(OK)
    for (const { socket, requests } of app.connections) {
      if (requests[0]?.method === 'GET') socket.write('0\r\n\r\n')
    }
    for (const each of [...calls, ...halves]) expect((await each.response())?.status).toBe(200)
    for (const each of streams) expect((await each.response())?.complete).toBe(true)
    for (const each of halves)
      expect(valueOf(each.responses[0]!.headers, 'connection')).toBe('close')
    await endsByItself(at)
  })

  test.each([
    ['JSON', 'application/json'],
    ['of another kind', 'application/octet-stream'],
  ])('a chunked upload that is %s is finished', async (_, type) => {
    const at = await stand()
    const upload = await client(at)
    const head = `POST /up HTTP/1.1\r\nHost: pod\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
    await upload.send([head, chunk('[1,')], 'POST')
    await accepted(at, 1)
    await sigterm(at)
    await upload.send([chunk('2]'), '0\r\n\r\n'])
    expect((await at.app.received(1)).body.toString()).toBe('[1,2]')
    await asked(at, 1)
    await at.held[0]!.write(OK)
    expect((await upload.response())?.status).toBe(200)
    await endsByItself(at)
  })

  test('a body that turns out broken is refused, and nobody waits for its end', async () => {
    const at = await stand()
    const upload = await client(at)
    const head = `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    await upload.send([head, chunk('[1,')], 'POST')
    await accepted(at, 1)
    await sigterm(at)
    await upload.send('zz\r\n')
    expect((await upload.response())?.status).toBe(400)
    await endsByItself(at)
    expect(at.app.requests).toHaveLength(0)
  })

  test('pipelined calls that were begun are answered, and only the last one says close', async () => {
    const at = await stand()
    const pipelining = await client(at)
    for (const id of [1, 2]) await pipelining.send(toolCall(id), 'POST')
    await at.app.received(2)
    await sigterm(at)
    await drainHasBegun(at)
    await pipelining.send(toolCall(3), 'POST')
    await asked(at, 2)
    for (const each of at.held.toReversed()) await each.write(OK)
    const given = [await pipelining.response(0), await pipelining.response(1)]
    expect(given.map((each) => each?.status)).toEqual([200, 200])
    const said = given.map((each) => valueOf(each!.headers, 'connection'))
    expect(said).toEqual(['keep-alive', 'close'])
    await pipelining.gone
    await endsByItself(at)
    expect(at.app.requests).toHaveLength(2)
  })

  test('a response that waits for its turn behind another one is not lost', async () => {
    const at = await stand()
    const pipelining = await client(at)
    for (const id of [1, 2]) await pipelining.send(toolCall(id), 'POST')
    await asked(at, 2)
    const [first, second] = at.held as [AppExchange, AppExchange]
    await second.write(OK)
    await eventually(async () =>
      (await at.metric('squall_calls_total')) === 1 ? undefined : 'no response has come',
    )
    await sigterm(at)
    await first.write(OK)
    expect((await pipelining.response(1))?.status).toBe(200)
    await endsByItself(at)
  })

  test('answers leave that the client has not read yet', async () => {
    const at = await stand()
    const slow = await client(at)
    slow.socket.pause()
    const large = response('200 OK', ['Content-Type', 'application/json'], 'x'.repeat(2_097_152))
    for (let id = 0; id < 4; id++) await slow.send(toolCall(id), 'POST')
    await asked(at, 4)
    await Promise.all(at.held.map((each) => each.write(large)))
    await eventually(async () =>
      (await at.metric('squall_calls_total')) > 0 ? undefined : 'no responses have come',
    )
    await sigterm(at)
    await drainHasBegun(at)
    slow.socket.resume()
    for (let id = 0; id < 4; id++) expect((await slow.response(id))?.complete).toBe(true)
    await endsByItself(at)
  })

  test('requests that half arrived over TLS are finished, and idle connections end', async () => {
    const at = await stand('--tls-cert', tlsFile('first.pem'), '--tls-key', tlsFile('first.key'))
    const idle = await handshake(at.port)
    const sockets = [await handshake(at.port), await handshake(at.port)]
    const cuts = sockets.map((_, index) => cutRequest(index))
    for (const [index, socket] of sockets.entries()) {
      await new Promise((resolve) => socket.write(cuts[index]![0], resolve))
    }
    await accepted(at, 3)
    const ended = once(idle.resume(), 'close')
    await sigterm(at)
    await ended
    for (const [index, socket] of sockets.entries()) socket.write(cuts[index]![1])
    await asked(at, 2)
    for (const each of at.held) await each.write(OK)
    for (const socket of sockets) {
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      expect(bytes.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    }
    await endsByItself(at)
  })
})

function clients(at: Stand, count: number): Promise<RawClient[]> {
  return Promise.all(Array.from({ length: count }, () => client(at)))
}

/**
 * A call in two parts: cut in the request line, within a header, at the end of the headers, or in
 * the body.
 */
function cutRequest(id: number): [string, string] {
  const text = toolCall(id)
  const head = text.indexOf('\r\n\r\n') + 4
  const at = [1, text.length - 10, head, 40, head - 2][id % 5]!
  return [text.slice(0, at), text.slice(at)]
}

/** The admin port has responded twice: the first steps of the drain are done. */
async function drainHasBegun({ metric }: Stand): Promise<void> {
  for (let i = 0; i < 2; i++) await metric('squall_connections', { kind: 'client' })
}
