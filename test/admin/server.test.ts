import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Readiness } from '../../src/admin/routes.ts'
import { type Admin, createAdmin } from '../../src/admin/server.ts'
import type { ListenAddress } from '../../src/http/address.ts'
import type { Logger } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import type { Exposition } from '../../src/telemetry/text-format.ts'
import { eventually } from '../support/eventually.ts'

const LOOPBACK: ListenAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 }
const open: Admin[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((admin) => admin.close()))
})

function quiet(): void {}

interface Setup {
  readonly readiness?: () => Readiness
  readonly render?: () => Promise<Exposition>
}

async function start(setup: Setup = {}) {
  const errors: object[] = []
  const logger: Logger = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (fields) => void errors.push(fields),
  }
  const metrics = new Metrics({ version: '1.2.3' })
  const admin = createAdmin({
    metrics: { render: setup.render ?? (() => metrics.render()) },
    readiness: setup.readiness ?? (() => ({ ready: true, reason: 'serving' })),
    logger,
    version: '1.2.3',
  })
  open.push(admin)
  const address = await admin.listen(LOOPBACK)
  return { admin, address, errors, url: `http://127.0.0.1:${address.port}` }
}

/** Sends the text as it stands and gives everything that comes back until the end. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => (answer += chunk))
    socket.on('close', () => resolve(answer))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resolve(answer)
      else reject(error)
    })
  })
}

describe('the admin port', () => {
  it('says that the process lives', async () => {
    const { url } = await start()
    const answer = await fetch(`${url}/livez?from=kubelet`)
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe('ok\n')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('says whether it is ready, and why', async () => {
    let state: Readiness = { ready: false, reason: 'the upstream cannot be reached' }
    const { url } = await start({ readiness: () => state })
    const before = await fetch(`${url}/readyz`)
    expect(before.status).toBe(503)
    expect(await before.json()).toEqual(state)
    state = { ready: true, reason: 'serving' }
    const after = await fetch(`${url}/readyz`)
    expect(after.status).toBe(200)
    expect(await after.json()).toEqual(state)
  })

  it('gives metrics as their renderer made them', async () => {
    const { url } = await start()
    const answer = await fetch(`${url}/metrics`)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await answer.text()).toContain('squall_build_info{version="1.2.3"')
  })

  it('lists its paths at the root, and where a path is unknown', async () => {
    const { url } = await start()
    const paths = ['/', '/livez', '/readyz', '/metrics', '/openapi.json']
    const index = await (await fetch(url)).text()
    for (const path of paths) expect(index).toMatch(new RegExp(`^${path} `, 'm'))
    const unknown = await fetch(`${url}/livez/`)
    expect(unknown.status).toBe(404)
    expect(await unknown.json()).toEqual({ error: 'not found', paths })
  })

  it('answers HEAD like GET, without the body', async () => {
    const { url } = await start()
    for (const path of ['/', '/livez', '/readyz', '/nothing']) {
      const get = await fetch(`${url}${path}`)
      const head = await fetch(`${url}${path}`, { method: 'HEAD' })
      expect(head.status).toBe(get.status)
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      expect(await head.text()).toBe('')
    }
  })

  it('takes no other method', async () => {
    const { url } = await start()
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await fetch(`${url}/livez`, { method })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    }
    const options = await fetch(`${url}/livez`, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([200, 'GET, HEAD, OPTIONS'])
  })

  it('answers 500 and says so in the log when a source fails', async () => {
    const { url, errors } = await start({
      readiness: () => {
        throw new Error('broken')
      },
      render: () => Promise.reject(new Error('broken')),
    })
    expect((await fetch(`${url}/readyz`)).status).toBe(500)
    const answer = await fetch(`${url}/metrics`)
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('broken')
    expect(errors).toHaveLength(2)
    expect((await fetch(`${url}/livez`)).status).toBe(200)
  })
})

describe('a long response', () => {
  const pieces = Array.from({ length: 50 }, (_, i) => Buffer.alloc(64 * 1024, i))
  const whole = Buffer.concat(pieces)

  /** An admin port whose scrapes are long, and how often it had done with one. */
  async function startLong(body: readonly Buffer[] = pieces) {
    let done = 0
    const render = (): Promise<Exposition> =>
      Promise.resolve({ contentType: 'text/plain', body, text: '', done: () => done++ })
    return { ...(await start({ render })), done: () => done }
  }

  it('arrives whole, with its length', async () => {
    const { url, done } = await startLong()
    const answer = await fetch(`${url}/metrics`)
    expect(answer.headers.get('content-length')).toBe(String(whole.length))
    expect(Buffer.from(await answer.arrayBuffer()).equals(whole)).toBe(true)
    await eventually(() => (done() === 1 ? undefined : `done with ${done()} times`))
  })

  it('is left out where only its head was asked for', async () => {
    const { url } = await startLong()
    const head = await fetch(`${url}/metrics`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(whole.length))
    expect(await head.text()).toBe('')
    expect((await fetch(`${url}/livez`)).status).toBe(200)
  })

  it('waits for who reads slowly, and others do not wait for it', async () => {
    const { url, address, done } = await startLong()
    const slow = connect(address.port, '127.0.0.1')
    slow.write('GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    await once(slow, 'readable')
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    let length = 0
    slow.on('data', (chunk: Buffer) => (length += chunk.length))
    await once(slow, 'close')
    expect(length).toBeGreaterThan(whole.length)
    await eventually(() => (done() === 1 ? undefined : `done with ${done()} times`))
  })

  it('of one piece is in use until its reader has it', async () => {
    const { address, done } = await startLong([Buffer.alloc(64 * 1024 * 1024)])
    const slow = connect(address.port, '127.0.0.1')
    slow.write('GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    await once(slow, 'readable')
    expect(done()).toBe(0)
    slow.resume()
    await once(slow, 'close')
    await eventually(() => (done() === 1 ? undefined : `done with ${done()} times`))
  })

  it('ends for who leaves, and its memory is not used again', async () => {
    const { url, address, done, errors } = await startLong()
    const leaving = connect(address.port, '127.0.0.1')
    leaving.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(leaving, 'readable')
    leaving.resetAndDestroy()
    await once(leaving, 'close')
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    expect(done()).toBe(0)
    expect(errors).toEqual([])
  })
})

describe('hostile clients', () => {
  it('are answered without their body being waited for', async () => {
    const { address } = await start()
    const head = 'POST /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 999999\r\n\r\n'
    const answer = await raw(address.port, head)
    expect(answer).toMatch(/^HTTP\/1\.1 405 /)
    expect(answer).toMatch(/connection: close/i)
  })

  it('get no 100 Continue for a body', async () => {
    const { address } = await start()
    const head =
      'GET /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n'
    expect(await raw(address.port, head)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('cannot send a head without end', async () => {
    const { address } = await start()
    const answer = await raw(address.port, `GET / HTTP/1.1\r\nx: ${'a'.repeat(20_000)}`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  })

  it('get no further with an upgrade or a tunnel', async () => {
    const { address } = await start()
    const upgrade =
      'GET /livez HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n'
    expect(await raw(address.port, upgrade)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await raw(address.port, 'CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n')).toBe('')
  })
})

describe('binding', () => {
  it('fails with the reason when the address is taken', async () => {
    const { address } = await start()
    const second = await start()
    await second.admin.close()
    await expect(second.admin.listen({ kind: 'tcp', ...address })).rejects.toThrow(
      /cannot listen on /,
    )
  })

  it('works on a Unix socket', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'squall-admin-'))
    try {
      const { admin } = await start()
      await admin.close()
      const path = join(directory, 'admin.sock')
      expect(await admin.listen({ kind: 'unix', path })).toMatchObject({ text: `unix:${path}` })
      const status = await new Promise((resolve, reject) => {
        httpRequest({ socketPath: path, path: '/livez' }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
      expect(status).toBe(200)
      await admin.close()
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('ends with connections that are idle or that stand still', async () => {
    const { admin, address } = await start()
    const idle = raw(address.port, 'GET /livez HTTP/1.1\r\nhost: a\r\n\r\n')
    const slow = raw(address.port, 'GET /livez HTTP/1.1\r\nho')
    const slowSocket = await fetch(`http://127.0.0.1:${address.port}/livez`)
    await slowSocket.text()
    await admin.close()
    expect(await idle).toMatch(/^HTTP\/1\.1 200 |^$/)
    expect(await slow).toBe('')
    await admin.close()
  })
})
