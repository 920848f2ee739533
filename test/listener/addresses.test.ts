import { lookup } from 'node:dns/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { call, callMessage, responding, startUpstream } from '../support/wire.ts'
import { startProgram, startSquall } from '../support/commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-'))
afterAll(() => rmSync(directory, { recursive: true }))
const opened = closers()

test('Unix sockets are listened on and sent to', async () => {
  const [own, app] = [join(directory, 'own'), join(directory, 'app')]
  opened(await startUpstream(responding('by file'), { path: app }))
  const squall = opened(await startSquall('--listen', `unix:${own}`, '--upstream', `unix:${app}`))
  const given = await call({ socketPath: own }, callMessage(1))
  expect([given.status, given.text]).toEqual([200, expect.stringContaining('by file')])
  expect((await squall.readiness()).ready).toBe(true)
  expect(await squall.metric('squall_calls_total', { tool: 'echo', outcome: 'ok' })).toBe(1)
})

test('a Unix socket in a missing directory is reported as such', async () => {
  const missing = `unix:${join(directory, 'missing', 'x.sock')}`
  const { code, stderr } = await startProgram(
    ['run', '--listen', missing, '--upstream', 'http://127.0.0.1:1', '--admin', 'off'],
    {},
    { here: true },
  )
  expect(code).toBe(2)
  expect(stderr).toContain('its directory does not exist; create the directory first')
})

test('an upstream behind a missing Unix socket is reported as such', async () => {
  const squall = opened(await startSquall('--upstream', `unix:${join(directory, 'none')}`))
  const given = await call({ host: '127.0.0.1', port: squall.port }, callMessage(1))
  expect(given.status).toBe(502)
  expect(given.headers['x-squall-error']).toBe('upstream_unreachable')
  expect(given.text).toContain('ENOENT')
})

test('IPv6 is listened on and sent to', async () => {
  const app = opened(await startUpstream(responding('by six'), { host: '::1', port: 0 }))
  const squall = opened(
    await startSquall('--listen', '[::1]:0', '--upstream', `http://[::1]:${app.port}`),
  )
  expect(squall.running.listeners[0]!.text).toBe(`[::1]:${squall.port}`)
  const given = await call({ host: '::1', port: squall.port }, callMessage(1))
  expect([given.status, given.text]).toEqual([200, expect.stringContaining('by six')])
})

// Not every machine calls both of its loopback addresses by this name.
const locals = (await lookup('localhost', { all: true })).map(({ address }) => address)

test.each(locals)('localhost is found where the upstream listens on %s alone', async (host) => {
  const app = opened(await startUpstream(responding('here'), { host, port: 0 }))
  const squall = opened(await startSquall('--upstream', `http://localhost:${app.port}`))
  const given = await call({ host: '127.0.0.1', port: squall.port }, callMessage(1))
  expect([given.status, given.text]).toEqual([200, expect.stringContaining('here')])
  expect((await squall.readiness()).ready).toBe(true)
})

test('pairs in one process do not mix', async () => {
  const names = ['one', 'two', 'three']
  const apps = await Promise.all(names.map((name) => startUpstream(responding(`from ${name}`))))
  apps.forEach(opened)
  const squall = opened(
    await startSquall(
      ...apps.flatMap(({ port }) => [
        '--listen',
        '127.0.0.1:0',
        '--upstream',
        `http://127.0.0.1:${port}`,
      ]),
    ),
  )
  const ports = squall.running.listeners.map(({ port }) => port)
  expect(new Set(ports).size).toBe(3)
  const rounds = Array.from({ length: 30 }, (_, round) => round)
  await Promise.all(
    rounds.map(async (round) => {
      const given = await call({ host: '127.0.0.1', port: ports[round % 3]! }, callMessage(round))
      expect(given.text).toContain(`from ${names[round % 3]!}`)
    }),
  )
  expect(await squall.metric('squall_calls_total', { outcome: 'ok' })).toBe(30)
  await apps[1]!.close()
  const [first, second] = await Promise.all(
    [0, 1].map((pair) => call({ host: '127.0.0.1', port: ports[pair]! }, callMessage(1))),
  )
  expect([first!.status, second!.status]).toEqual([200, 502])
  const reported = await squall.readiness()
  expect([reported.status, reported.reason]).toEqual([
    503,
    `http://127.0.0.1:${apps[1]!.port} does not accept connections`,
  ])
})
