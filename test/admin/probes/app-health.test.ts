import type { IncomingMessage, RequestListener } from 'node:http'
import { connect, createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort, type HttpApp, startUpstream, tlsText } from '../../support/wire.ts'
import { eventually } from '../../support/eventually.ts'
import type { Api } from '../api-setup.ts'
import { startSquall } from '../../support/commands.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function app(listener: RequestListener, tls?: object): Promise<HttpApp> {
  const started = await startUpstream(listener, { host: '127.0.0.1', port: 0 }, tls)
  closers.push(() => started.close())
  return started
}

/** Starts a sidecar with probes, which wait for 30 s unless they name another time. */
async function health(
  given: Readonly<Record<string, object>>,
): Promise<Pick<Api, 'port' | 'log'> & { ask: Api['probe'] }> {
  const probes = Object.entries(given).map(([name, probe]) => [
    name,
    { timeoutSeconds: 30, ...probe },
  ])
  const appProbes = Object.fromEntries(probes) as object
  const { port, log, probe, close } = await startSquall({ admin: { appProbes } })
  closers.push(() => expect(log.filter(({ level }) => level === 'error')).toEqual([]), close)
  return { port, log, ask: probe }
}

describe('HTTP probes', () => {
  test.each([
    [200, 200],
    [204, 200],
    [304, 200],
    [404, 404],
    [503, 503],
    [700, 502],
  ])('an upstream that responds %i is reported as %i', async (status, reported) => {
    const { port } = await app((_, response) => response.writeHead(status).end())
    const { ask } = await health({ 'app/readyz': { httpGet: { port } } })
    expect(await ask('app/readyz')).toEqual([
      reported,
      `the upstream responded with ${status}${status === 304 ? ', which is not followed' : ''}`,
    ])
  })

  test('is sent as the kubelet would send it', async () => {
    const seen: IncomingMessage[] = []
    const { port } = await app((request, response) => {
      seen.push(request)
      response.end()
    })
    const given = [
      { name: 'Host', value: 'shop.example' },
      { name: 'X-Twice', value: '1' },
      { name: 'x-twice', value: '2' },
    ]
    const { ask } = await health({
      'app/livez': { httpGet: { port, path: '/a/../b?c=%20d' } },
      'app/readyz': { httpGet: { port, httpHeaders: given } },
      'app/startupz': {
        httpGet: {
          port,
          httpHeaders: [
            { name: 'Accept', value: '' },
            { name: 'User-Agent', value: 'me' },
          ],
        },
      },
    })
    for (const probe of ['livez', 'readyz', 'startupz']) await ask(`app/${probe}`)
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /a/../b?c=%20d',
      'GET /',
      'GET /',
    ])
    expect(seen[0]!.headers).toEqual({
      host: `127.0.0.1:${port}`,
      'user-agent': 'kube-probe/1.33',
      accept: '*/*',
      connection: 'close',
    })
    expect(seen[1]!.headers).toMatchObject({ host: 'shop.example', 'x-twice': '1, 2' })
    expect(seen[2]!.headers).not.toHaveProperty('accept')
    expect(seen[2]!.headers['user-agent']).toBe('me')
  })

  test('follows redirects at the same host alone, and not for ever', async () => {
    const paths: string[] = []
    const { port } = await app((request, response) => {
      paths.push(request.url!)
      const to = {
        '/near': '/there',
        '/far': 'http://elsewhere.example/',
        '/round': '/round',
        '/odd': 'ftp://127.0.0.1/',
      }[request.url!]
      if (to === undefined) response.writeHead(request.url === '/there' ? 200 : 500).end()
      else response.writeHead(302, { location: to }).end()
    })
    const get = (path: string) => ({ httpGet: { port, path } })
    const { ask } = await health({
      'a/livez': get('/near'),
      'a/readyz': get('/far'),
      'a/startupz': get('/round'),
      'b/livez': get('/odd'),
    })
    expect(await ask('a/livez')).toEqual([200, 'the upstream responded with 200'])
    expect(await ask('a/readyz')).toEqual([
      200,
      'the upstream responded with 302, which is not followed',
    ])
    expect(paths).toEqual(['/near', '/there', '/far'])
    expect(await ask('a/startupz')).toEqual([502, 'the upstream redirected 10 times'])
    expect(paths.length).toBe(13)
    expect(await ask('b/livez')).toEqual([502, 'the upstream redirected to ftp:'])
  })

  test('takes any certificate', async () => {
    const tls = { cert: tlsText('first.pem'), key: tlsText('first.key') }
    const { port } = await app((_, response) => response.end('fine'), tls)
    const { ask } = await health({ 'app/readyz': { httpGet: { port, scheme: 'HTTPS' } } })
    expect(await ask('app/readyz')).toEqual([200, 'the upstream responded with 200'])
  })

  test('an endless body is read no further than the kubelet reads', async () => {
    const { port } = await app((_, response) => {
      const more = (): void => void (response.write('x'.repeat(4096)) && setImmediate(more))
      response.on('drain', more)
      more()
    })
    const { ask } = await health({ 'app/readyz': { httpGet: { port } } })
    expect(await ask('app/readyz')).toEqual([200, 'the upstream responded with 200'])
  })

  test('an upstream that breaks off, is not there or stays silent fails, and the line says why', async () => {
    const broken = await app((_, response) => {
      response.writeHead(200, { 'content-length': 10 })
      response.write('half', () => response.destroy())
    })
    const silent = await app(() => undefined)
    const gone = await freePort()
    const { ask, log } = await health({
      'app/livez': { httpGet: { port: broken.port } },
      'app/readyz': { httpGet: { port: gone } },
      'app/startupz': { httpGet: { port: silent.port }, timeoutSeconds: 1 },
    })
    expect(await ask('app/livez')).toEqual([502, 'aborted'])
    expect(await ask('app/readyz')).toEqual([502, `connect ECONNREFUSED 127.0.0.1:${gone}`])
    expect(await ask('app/startupz')).toEqual([502, 'no response within 1000 ms'])
    const fields = { check: 'app/startupz', ok: false, why: 'no response within 1000 ms' }
    expect(log).toContainEqual(
      expect.objectContaining({ level: 'debug', fields: expect.objectContaining(fields) }),
    )
  })

  test('when the kubelet leaves, the upstream is left, too', async () => {
    let arrived = 0
    let left = 0
    const { port } = await app((request) => {
      arrived++
      request.socket.on('close', () => left++)
    })
    const { port: admin } = await health({ 'app/prestop': { httpGet: { port } } })
    const socket = connect(admin, '127.0.0.1')
    socket.write('GET /app-health/app/prestop HTTP/1.1\r\nhost: x\r\n\r\n')
    await eventually(() => (arrived === 1 ? undefined : 'not queried yet'))
    socket.destroy()
    await eventually(() => (left === 1 ? undefined : 'still connected'))
  })

  test('no more than 32 checks run at once', async () => {
    const waiting: (() => void)[] = []
    const { port } = await app((_, response) => void waiting.push(() => response.end()))
    const { ask } = await health({ 'app/prestop': { httpGet: { port } } })
    const asked = Array.from({ length: 32 }, () => ask('app/prestop'))
    await eventually(() => (waiting.length === 32 ? undefined : `${waiting.length} under way`))
    expect(await ask('app/prestop')).toEqual([503, 'too many concurrent checks'])
    for (const end of waiting) end()
    for (const answer of await Promise.all(asked)) expect(answer[0]).toBe(200)
  })
})

describe('what is asked', () => {
  test('is what was declared, and nothing else', async () => {
    let asked = 0
    const { port } = await app((_, response) => {
      asked++
      response.end()
    })
    const { ask, port: admin } = await health({ 'app/readyz': { httpGet: { port, path: '/a' } } })
    for (const key of ['app/livez', 'other/readyz', `app/readyz/..%2f`, 'http://127.0.0.1/']) {
      expect((await ask(key))[0]).toBe(404)
    }
    const posted = await fetch(`http://127.0.0.1:${admin}/app-health/app/readyz`, {
      method: 'POST',
    })
    expect(posted.status).toBe(405)
    expect(asked).toBe(0)
    expect((await ask('app/readyz?path=/b'))[0]).toBe(200)
  })
})

describe('TCP probes', () => {
  test('a connection is enough', async () => {
    const { port, close } = await startUpstream(createServer())
    closers.push(close)
    const gone = await freePort()
    const { ask } = await health({
      'app/livez': { tcpSocket: { port } },
      'app/readyz': { tcpSocket: { port: gone } },
    })
    expect(await ask('app/livez')).toEqual([200, 'the upstream accepts connections'])
    expect(await ask('app/readyz')).toEqual([502, `connect ECONNREFUSED 127.0.0.1:${gone}`])
  })
})

describe('hooks', () => {
  test('any response is well, whatever its status; none is none', async () => {
    const { port } = await app((_, response) => response.writeHead(500).end())
    const { ask } = await health({
      'app/poststart': { httpGet: { port } },
      'app/prestop': { httpGet: { port: await freePort() } },
    })
    expect((await ask('app/poststart'))[0]).toBe(500)
    expect((await ask('app/prestop'))[0]).toBe('reset')
  })
})
