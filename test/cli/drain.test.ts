// part: slow
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  type AppConnection,
  type AppExchange,
  chunk,
  OPEN_STREAM,
  type RawApp,
  RawClient,
  response,
  startUpstream,
  STREAM_HEAD,
  toolCall,
  valueOf,
} from '../support/wire.ts'
import { portOf, type Program, startProgram } from '../support/commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-'))
afterAll(() => rmSync(directory, { recursive: true }))
const opened = closers()

interface Stand {
  readonly app: RawApp
  readonly program: Program
  readonly port: number
  readonly admin: string
  /** Exchanges without a response from the upstream. */
  readonly held: AppExchange[]
}

function stand(...args: string[]): Promise<Stand> {
  return standOf((flags) => startProgram([...flags, ...args]))
}

async function standOf(start: (args: readonly string[]) => Program): Promise<Stand> {
  const held: AppExchange[] = []
  const app = opened(
    await startUpstream({
      script: async (exchange) => {
        if (exchange.request.method === 'GET')
          await exchange.send([STREAM_HEAD, chunk('data: 1\n\n')])
        else held.push(exchange)
      },
    }),
  )
  const where = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--upstream', app.url]
  const program = start(['run', ...where])
  opened({ close: () => program.kill() })
  const admin = await program.logged('admin listening')
  const port = portOf(program.lines[0]!)
  return { app, program, port, admin: `http://${String(admin['address'])}`, held }
}

async function client(port: number): Promise<RawClient> {
  return opened(await RawClient.connect(port))
}

async function openStream(port: number): Promise<RawClient> {
  const stream = await client(port)
  await stream.send(OPEN_STREAM, 'GET')
  expect(await stream.sees('data: 1')).toBe(true)
  return stream
}

/** The upstream's end of the stream: readiness probes have connections of their own. */
function streamOf({ requests }: RawApp): AppConnection {
  return requests.find(({ method }) => method === 'GET')!.connection
}

async function signalled(program: Program, signal: NodeJS.Signals): Promise<void> {
  program.signal(signal)
  await program.logged('draining; a second signal exits at once')
}

describe('a drain', () => {
  test('stops accepting, is not ready at once, and lets a call finish', async () => {
    const { app, program, port, admin, held } = await stand()
    expect((await fetch(`${admin}/readyz`)).status).toBe(200)
    const idle = await client(port)
    const busy = await client(port)
    await busy.send(toolCall(1), 'POST')
    await app.received(1)
    await signalled(program, 'SIGTERM')
    const ready = await fetch(`${admin}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { ready: false, reason: 'draining' },
    ])
    expect(await idle.gone).toBe('fin')
    const refused = connect(port, '127.0.0.1')
    const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNREFUSED')
    expect(program.child.exitCode).toBeNull()
    await held[0]!.write(response('200 OK', ['Content-Type', 'application/json'], '{}'))
    const given = await busy.response()
    expect([given?.status, given?.body.toString()]).toEqual([200, '{}'])
    expect(valueOf(given!.headers, 'connection')).toBe('close')
    expect(await busy.gone).toBe('fin')
    for (const each of [idle, busy]) each.close()
    expect(await program.ended).toEqual({ code: 0, signal: null })
    expect(program.lines.at(-1)?.['msg']).toBe('stopped')
    expect(program.stderr()).toBe('')
  })

  test.each(['fast', 'standard'])(
    'serves the connections that wait to be accepted when the signal comes (%s)',
    async (engine) => {
      const { program, port, held } = await stand('--engine', engine)
      // The kernel accepts for a process that stands still, and keeps the bytes.
      program.signal('SIGSTOP')
      const clients = await Promise.all(Array.from({ length: 50 }, async () => client(port)))
      await Promise.all(clients.map(async (each, id) => each.send(toolCall(id), 'POST')))
      program.signal('SIGTERM')
      program.signal('SIGCONT')
      await eventually(() => (held.length === 50 ? undefined : `${held.length} requests`))
      const ok = response('200 OK', ['Content-Type', 'application/json'], '{}')
      await Promise.all(held.map(async (exchange) => exchange.write(ok)))
      const given = await Promise.all(clients.map(async (each) => each.response()))
      expect(given.map((each) => each?.status)).toEqual(Array<number>(50).fill(200))
      expect(new Set(given.map((each) => valueOf(each!.headers, 'connection')))).toEqual(
        new Set(['close']),
      )
      for (const each of clients) each.close()
      expect(await program.ended).toEqual({ code: 0, signal: null })
    },
  )

  test('lets an event stream go on, and ends when the upstream has ended it', async () => {
    const { app, program, port, admin } = await stand()
    // A probe of the upstream, which may come before the stream.
    await (await fetch(`${admin}/readyz`)).text()
    const stream = await openStream(port)
    await signalled(program, 'SIGTERM')
    streamOf(app).socket.write(chunk('data: 2\n\n'))
    expect(await stream.sees('data: 2')).toBe(true)
    streamOf(app).socket.write('0\r\n\r\n')
    expect((await stream.response())?.complete).toBe(true)
    expect(await stream.gone).toBe('fin')
    stream.close()
    expect(await program.ended).toEqual({ code: 0, signal: null })
  })

  test('cuts an event stream when its time has passed', async () => {
    const { app, program, port } = await stand('--drain-timeout', '700ms')
    const stream = await openStream(port)
    const began = performance.now()
    await signalled(program, 'SIGINT')
    streamOf(app).socket.write(chunk('data: 2\n\n'))
    expect(await stream.sees('data: 2')).toBe(true)
    await stream.gone
    expect(performance.now() - began).toBeGreaterThan(600)
    expect(stream.responses.map(({ complete }) => complete)).toEqual([false])
    await streamOf(app).gone
    expect(await program.ended).toEqual({ code: 0, signal: null })
  })

  test('executes nothing that comes on a connection that it has ended', async () => {
    const { app, program, port } = await stand()
    const stream = await openStream(port)
    const idle = await client(port)
    await signalled(program, 'SIGTERM')
    await idle.gone
    await idle.send(toolCall(1), 'POST')
    streamOf(app).socket.write('0\r\n\r\n')
    await stream.gone
    stream.close()
    idle.close()
    await program.ended
    expect(app.requests.map(({ method }) => method)).toEqual(['GET'])
  })

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s is over at once with nothing open',
    async (signal) => {
      const { program } = await stand('--drain-timeout', '10m')
      await signalled(program, signal)
      expect(await program.ended).toEqual({ code: 0, signal: null })
    },
  )

  test.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
  ] as const)('by %s is cut short by %s, with exit code 1', async (first, second) => {
    const { program, port } = await stand('--drain-timeout', '10m')
    const stream = await openStream(port)
    await signalled(program, first)
    // Sooner, the same signal would be a second delivery of the first.
    if (second === first) await sleep(300)
    program.signal(second)
    expect(await program.ended).toEqual({ code: 1, signal: null })
    await stream.gone
  })

  test('is not cut short by a second delivery of the same signal', async () => {
    const { app, program, port } = await stand('--drain-timeout', '10m')
    const stream = await openStream(port)
    program.signal('SIGINT')
    program.signal('SIGINT')
    await program.logged('draining; a second signal exits at once')
    streamOf(app).socket.write('0\r\n\r\n')
    await stream.gone
    expect(await program.ended).toEqual({ code: 0, signal: null })
  })

  test('takes no time with a timeout of zero', async () => {
    const { program, port } = await stand('--drain-timeout', '0s')
    const stream = await openStream(port)
    program.signal('SIGTERM')
    expect(await program.ended).toEqual({ code: 0, signal: null })
    await stream.gone
  })
})

describe('a Unix socket to listen on', () => {
  const path = join(directory, 's')
  const args = [
    'run',
    '--listen',
    `unix:${path}`,
    '--admin',
    'off',
    '--upstream',
    'http://127.0.0.1:9',
  ]
  const run = (): Program => {
    const program = startProgram(args)
    opened({ close: () => program.kill() })
    return program
  }

  test('is gone after the drain', async () => {
    const program = run()
    expect((await program.logged('listening'))['address']).toBe(`unix:${path}`)
    expect(existsSync(path)).toBe(true)
    program.signal('SIGTERM')
    expect((await program.ended).code).toBe(0)
    expect(existsSync(path)).toBe(false)
  })

  test('is reused when nobody listens on it any more', async () => {
    const dead = run()
    await dead.logged('listening')
    await dead.kill()
    expect(existsSync(path)).toBe(true)
    const program = run()
    await program.logged('listening')
    const socket = connect(path)
    await once(socket, 'connect')
    socket.destroy()
  })

  test('is left to whoever listens on it', async () => {
    rmSync(path, { force: true })
    const live = createServer((socket) => socket.on('error', () => undefined).end('mine'))
    opened(await startUpstream(live, { path }))
    const ended = await startProgram(args).finished()
    expect(ended.stderr).toMatch(/^squall: cannot listen on unix:\S+: it is in use; [^\n]+\n$/)
    expect(ended.code).toBe(2)
    const [bytes] = (await once(connect(path), 'data')) as [Buffer]
    expect(bytes.toString()).toBe('mine')
  })

  test('is no file of another kind', async () => {
    rmSync(path, { force: true })
    writeFileSync(path, 'precious')
    expect((await startProgram(args).finished()).code).toBe(2)
    expect(readFileSync(path, 'utf8')).toBe('precious')
    rmSync(path)
  })
})

/** A sidecar behind a shell, as npx starts one: the shell ends at a signal without its child. */
function standBehind(script: string): Promise<Stand> {
  const npm = { npm_lifecycle_event: 'npx', npm_lifecycle_script: "'squall'" }
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  return standOf((args) =>
    startProgram(['-c', script, process.execPath, main, ...args], npm, { program: '/bin/sh' }),
  )
}

test('a sidecar ends when npx, which started it, was killed', async () => {
  const { program } = await standBehind('"$0" "$@"; exit $?')
  program.signal('SIGTERM')
  // The sidecar has the same standard output, which ends with it.
  await program.ended
  expect(program.lines.at(-1)).toMatchObject({ msg: 'stopped' })
})

test('a signal to the sidecar and to its npx is one signal, and a call finishes', async () => {
  const both = '"$0" "$@" & trap "kill -TERM $!; exit 0" TERM; wait'
  const { app, program, port, held } = await standBehind(both)
  const busy = await client(port)
  await busy.send(toolCall(1), 'POST')
  await app.received(1)
  await signalled(program, 'SIGTERM')
  // Longer than the time after which the sidecar sees that the shell has gone.
  await sleep(1_200)
  await held[0]!.write(response('200 OK', ['Content-Type', 'application/json'], '{}'))
  expect((await busy.response())?.status).toBe(200)
  busy.close()
  await program.ended
  expect(program.lines.at(-1)).toMatchObject({ msg: 'stopped' })
})
