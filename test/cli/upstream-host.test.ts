import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import type { RunOptions } from '../../src/sidecar/run-options.ts'
import { asked } from '../support/commands/command-line.ts'
import { call, callMessage, responding, startUpstream } from '../support/wire.ts'
import { startSquall } from '../support/commands.ts'

const routes = (...flags: readonly string[]) =>
  (asked(['run', ...flags]) as RunOptions).pairs.map(({ upstream }) =>
    upstream.kind === 'tcp' ? `${upstream.host} ${upstream.port} ${upstream.tls}` : 'unix',
  )

test('stands in for the host of every upstream', () => {
  const pairs = ['--listen', ':1', '--upstream', 'http://app', '--listen', ':2', '--upstream']
  const both = [...pairs, 'https://127.0.0.1:3000']
  expect(routes(...both, '--upstream-host', '10.1.2.3')).toEqual([
    '10.1.2.3 80 false',
    '10.1.2.3 3000 true',
  ])
  expect(routes('--upstream-host', 'fd00::7')).toEqual(['fd00::7 3000 false'])
  expect(routes('--upstream-host', '[fd00::7]')).toEqual(['fd00::7 3000 false'])
})

test.each([
  ['10.1.2.3:80', 'invalid host'],
  ['[10.1.2.3]', 'invalid host'],
  ['http://app', 'invalid host'],
  ['::', 'must be a single host'],
  ['0.0.0.0', 'must be a single host'],
])('%s is refused: it %s', (host, wrong) => {
  expect(() => routes('--upstream-host', host)).toThrow(wrong)
})

test('a socket has no host', () => {
  expect(() => routes('--upstream', 'unix:/app.sock', '--upstream-host', '10.1.2.3')).toThrow(
    'has no host to replace',
  )
})

test('leads to no loop by any address of this machine', () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  expect(own.length).toBeGreaterThan(0)
  for (const { address, family } of own) {
    const listen = family === 'IPv4' ? '0.0.0.0:3000' : ':3000'
    expect(() => routes('--listen', listen, '--upstream-host', address)).toThrow(
      'is the address of --listen',
    )
    expect(() => routes('--listen', ':3000', '--upstream-host', address)).toThrow(
      'is the address of --listen',
    )
    expect(routes('--listen', ':3001', '--upstream-host', address)).toHaveLength(1)
  }
  // The upstream on loopback, the sidecar on the address of the pod: the same port, and no loop.
  expect(routes('--listen', '10.1.2.3:3000', '--upstream-host', '127.0.0.1')).toHaveLength(1)
  expect(routes('--listen', '127.0.0.1:3000', '--upstream-host', '10.1.2.3')).toHaveLength(1)
})

test('a listener on [::] takes IPv4, too', async () => {
  const app = await startUpstream(responding('fine'))
  const squall = await startSquall(
    '--listen',
    '[::]:0',
    '--upstream',
    `http://app:${app.port}`,
    '--upstream-host',
    '127.0.0.1',
  )
  try {
    for (const host of ['127.0.0.1', '::1']) {
      expect((await call({ host, port: squall.port }, callMessage(1))).text).toContain('fine')
    }
  } finally {
    await squall.close()
    await app.close()
  }
})
