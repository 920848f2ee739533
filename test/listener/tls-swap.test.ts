import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { Agent } from 'node:https'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { beforeEach, expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  callMessage,
  post,
  responding,
  shownBy,
  startUpstream,
  tlsText,
} from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'

const opened = closers()
let directory = ''

beforeEach(() => {
  const made = mkdtempSync(join(tmpdir(), 'squall-'))
  directory = made
  opened({ close: () => rmSync(made, { recursive: true }) })
})

/** As a careful writer does it: whoever looks sees the old file or the new one. */
function put(name: string, text: string): void {
  const path = join(directory, name)
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

function putPair(name: string): void {
  put('tls.crt', tlsText(`${name}.pem`))
  put('tls.key', tlsText(`${name}.key`))
}

/**
 * As mounted secrets are laid out: links to a link to a directory, and the link in the middle is
 * swapped.
 */
function prepare(name: string, version: string): void {
  mkdirSync(join(directory, version))
  writeFileSync(join(directory, version, 'tls.crt'), tlsText(`${name}.pem`))
  writeFileSync(join(directory, version, 'tls.key'), tlsText(`${name}.key`))
  symlinkSync(version, join(directory, '..data_tmp'))
}

function swap(): void {
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
}

async function listening(upstream: number): Promise<Squall> {
  const files = ['--tls-cert', join(directory, 'tls.crt'), '--tls-key', join(directory, 'tls.key')]
  return opened(await startSquall('--upstream', `http://127.0.0.1:${upstream}`, ...files))
}

async function shows(squall: Squall, name: string): Promise<void> {
  await eventually(async () => {
    const shown = await shownBy(squall.port)
    return shown === name ? undefined : `${shown} is shown`
  })
}

test('files that are renamed into place are used from the next handshake on, and open connections live on', async () => {
  putPair('first')
  const open: ServerResponse[] = []
  const app = opened(
    await startUpstream((req, res) => {
      if (req.headers['x-hold'] === undefined) return responding('still here')(req, res)
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: 1\n\n')
      open.push(res)
    }),
  )
  const squall = await listening(app.port)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  opened({ close: () => agent.destroy() })
  const place = { host: '127.0.0.1', port: squall.port, ca: tlsText('ca.pem') }
  const stream = await post({ ...place, headers: { 'x-hold': '1' } }, callMessage(1))
  await once(stream, 'data')
  expect((await call({ ...place, agent }, callMessage(2))).status).toBe(200)
  expect(await shownBy(squall.port)).toBe('first')
  putPair('second')
  await squall.logged('TLS files were reloaded')
  await shows(squall, 'second')
  open[0]!.write('data: 2\n\n')
  const [bytes] = (await once(stream, 'data')) as [Buffer]
  expect(bytes.toString()).toBe('data: 2\n\n')
  const again = await post({ ...place, agent }, callMessage(3))
  expect(again.statusCode).toBe(200)
  expect((again.socket as TLSSocket).getPeerCertificate().subject.CN).toBe('first')
  again.resume()
})

test('mounted secrets are swapped by their link, more than once', async () => {
  prepare('first', '..2026_1')
  swap()
  for (const file of ['tls.crt', 'tls.key'])
    symlinkSync(join('..data', file), join(directory, file))
  const squall = await listening(9)
  expect(await shownBy(squall.port)).toBe('first')
  prepare('second', '..2026_2')
  swap()
  await shows(squall, 'second')
  rmSync(join(directory, '..2026_1'), { recursive: true })
  prepare('first', '..2026_3')
  // The link alone must be enough: what its preparation sets off is over by now.
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(await shownBy(squall.port)).toBe('second')
  swap()
  await shows(squall, 'first')
})

test('files that cannot be used leave the last good ones in use, and the log says so', async () => {
  putPair('first')
  const squall = await listening(9)
  put('tls.crt', 'damaged')
  const { level, detail } = await squall.logged(
    'new TLS files cannot be used; the previous ones stay active',
  )
  expect(level).toBe('warn')
  expect(detail).toContain(join(directory, 'tls.crt'))
  expect(await shownBy(squall.port)).toBe('first')
  const reported = squall.logs.length
  rmSync(join(directory, 'tls.key'))
  await squall.logged('new TLS files cannot be used; the previous ones stay active', reported)
  expect(await shownBy(squall.port)).toBe('first')
  putPair('second')
  await shows(squall, 'second')
})

test('the certificate that is shown to the upstream is swapped, too', async () => {
  putPair('first')
  const seen: unknown[] = []
  const app = await startUpstream(
    (req, res) => {
      seen.push((req.socket as TLSSocket).getPeerCertificate().subject.CN)
      // The next call needs a new handshake.
      res.setHeader('connection', 'close')
      responding('ok')(req, res)
    },
    undefined,
    {
      cert: tlsText('first.pem'),
      key: tlsText('first.key'),
      ca: tlsText('ca.pem'),
      requestCert: true,
    },
  )
  opened(app)
  put('ca.crt', tlsText('ca.pem'))
  const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map((name) => join(directory, name))
  const squall = await startSquall(
    '--upstream',
    `https://127.0.0.1:${app.port}`,
    '--upstream-ca',
    ca!,
    '--upstream-cert',
    cert!,
    '--upstream-key',
    key!,
  )
  opened(squall)
  const place = { host: '127.0.0.1', port: squall.port }
  expect((await call(place, callMessage(1))).status).toBe(200)
  putPair('second')
  await squall.logged('TLS files were reloaded')
  expect((await call(place, callMessage(2))).status).toBe(200)
  expect(seen).toEqual(['first', 'second'])
})
