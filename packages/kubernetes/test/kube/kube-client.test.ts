import { afterAll, beforeAll, expect, test } from 'vitest'
import { KubeClient } from '../../src/kube/kube-client.ts'
import { isKubeError, responseError } from '../../src/kube/kube-error.ts'
import { CONFIG_MAPS, pathOf, PODS } from '../../src/kube/resources.ts'
import { closers } from '../../../../test/support/closers.ts'
import { accessTo, type Cluster, startCluster, TOKEN } from '../../../../test/support/cluster.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
const bytes = (json: object): Buffer => Buffer.from(JSON.stringify(json))
let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster('api')
})
afterAll(() => cluster.close())

const PLACE = { kind: CONFIG_MAPS, namespace: 'shop', name: 'rules' }

async function errorOf(action: Promise<unknown>): Promise<Error> {
  return action.then(
    () => {
      throw new Error('it worked')
    },
    (error: unknown) => error as Error,
  )
}

test('things are made, read, changed and listed page by page', async () => {
  await cluster.client.create(PLACE, { metadata: { name: 'rules' }, data: { a: '1' } })
  await cluster.client.patch(PLACE, 'merge', { data: { b: '2' } })
  expect((await cluster.client.get(PLACE))['data']).toEqual({ a: '1', b: '2' })
  for (let i = 0; i < 5; i++) {
    cluster.api.put(`/api/v1/namespaces/shop/pods/p${i}`, {
      metadata: { labels: { n: `${i % 2}` } },
    })
  }
  const place = { kind: PODS, namespace: 'shop' }
  expect(await cluster.client.list(place)).toHaveLength(5)
  expect(await cluster.client.list(place, 'n=1')).toHaveLength(2)
})

test('a list starts over when the API server no longer knows its pages', async () => {
  let pages = 0
  cluster.api.before = ({ query }) => (query.has('continue') && ++pages === 2 ? 410 : undefined)
  const pods = await cluster.client.list({ kind: PODS, namespace: 'shop' })
  cluster.api.before = () => undefined
  expect(pods).toHaveLength(5)
  expect(pages).toBeGreaterThan(2)
})

test('a list without an end fails instead of ending early', async () => {
  const endless = opened(
    await startUpstream((_, response) => {
      response.end(JSON.stringify({ metadata: { continue: 'more' }, items: [{}] }))
    }),
  )
  const error = await errorOf(clientOf(endless.url).list({ kind: PODS }))
  expect(isKubeError(error, 'too_large')).toBe(true)
  expect(error.message).toMatch(
    /^cannot list pods in all namespaces: there are more than \d+; select/,
  )
})

test('each kind of refusal has its code and says what to do', async () => {
  const stale = { metadata: { name: 'rules', resourceVersion: '0' } }
  const conflict = await errorOf(cluster.client.replace(PLACE, stale))
  expect([isKubeError(conflict, 'conflict'), conflict.message]).toEqual([
    true,
    expect.stringContaining('try again'),
  ])
  const exists = await errorOf(cluster.client.create(PLACE, { metadata: { name: 'rules' } }))
  expect(isKubeError(exists, 'exists')).toBe(true)
  const gone = await errorOf(cluster.client.get({ ...PLACE, name: 'gone' }))
  expect(isKubeError(gone, 'not_found')).toBe(true)
  cluster.api.denied.add('patch configmaps')
  const forbidden = await errorOf(cluster.client.patch(PLACE, 'merge', {}))
  expect(isKubeError(forbidden, 'forbidden')).toBe(true)
  expect(forbidden.message).toContain(
    'give tester a Role in "shop" with apiGroups: [""], resources: ["configmaps"], verbs: ["patch"]',
  )
  // No right allows what a policy denies.
  const policy = { message: 'pods "a" is forbidden: violates a policy: it cannot run here' }
  const denied = responseError('patch pod "a"', 403, bytes(policy), 'test')
  expect(denied.message).toBe(`cannot patch pod "a": ${policy.message}`)
  cluster.api.before = () => 429
  const busy = await errorOf(cluster.client.get(PLACE))
  expect(isKubeError(busy, 'too_many_requests')).toBe(true)
  cluster.api.before = () => undefined
  const access = {
    ...accessTo(cluster.api, 'shop'),
    credentials: () => Promise.resolve({ token: `${TOKEN}x` }),
  }
  const stranger = opened(new KubeClient(access, 'test'))
  const unauthorized = await errorOf(stranger.get(PLACE))
  expect(unauthorized.message).toMatch(/rejected the credentials of context "test"; log in again/)
  expect(unauthorized.message).not.toContain(TOKEN)
})

function clientOf(url: string): KubeClient {
  const access = {
    server: new URL(url),
    tls: { insecure: false },
    credentials: () => Promise.resolve({ token: TOKEN }),
    namespace: 'shop',
    name: 'odd',
  }
  return opened(new KubeClient(access, 'test'))
}

test('responses that no API server sends are bounded and reported', async () => {
  const odd = opened(
    await startUpstream(({ url = '' }, response) => {
      if (url.includes('slow')) return
      if (url.includes('large')) {
        response.writeHead(200)
        const more = (): boolean => response.write('x'.repeat(65_536)) && more()
        response.on('drain', more)
        more()
        return
      }
      if (url.includes('cut')) {
        response.socket?.destroy()
        return
      }
      response.writeHead(url.includes('html') ? 502 : 200)
      response.end(`<html>\n\u001b[31m${'x'.repeat(2_000)}`)
    }),
  )
  const client = clientOf(odd.url)
  const ask = (name: string): Promise<Error> =>
    errorOf(
      client.request({
        method: 'GET',
        path: `/a/${name}`,
        what: 'look',
        timeoutMs: name.endsWith('slow') ? 400 : 10_000,
        maxBytes: 100_000,
      }),
    )
  expect((await ask('slow')).message).toMatch(
    /did not respond within 0.4 s; check that it is reachable/,
  )
  expect((await ask('proxy/slow')).message).toMatch(
    /^cannot look: the pod, through [^ ]+, did not respond within 0.4 s; check that the pod and its/,
  )
  expect((await ask('large')).message).toMatch(/more than 100000 bytes/)
  expect((await ask('cut')).message).toMatch(/^cannot look \(odd\): /)
  expect((await ask('fine')).message).toMatch(/is not valid JSON/)
  const html = (await ask('html')).message
  expect(html.length).toBeLessThan(400)
  // oxlint-disable-next-line no-control-regex
  expect(html).not.toMatch(/[\u0000-\u001f]/)
  const none = clientOf('http://127.0.0.1:9')
  const refused = await errorOf(none.request({ method: 'GET', path: '/', what: 'look' }))
  expect(refused.message).toMatch(
    /nothing listens at 127.0.0.1:9; check the URL, and that the server is running/,
  )
})

test('an abort ends a request as an abort', async () => {
  const odd = opened(await startUpstream(() => undefined))
  const stop = new AbortController()
  const asked = clientOf(odd.url).request({
    method: 'GET',
    path: '/',
    what: 'look',
    signal: stop.signal,
  })
  stop.abort()
  expect((await errorOf(asked)).name).toBe('AbortError')
})

test('names lead nowhere else', () => {
  expect(pathOf({ kind: PODS, namespace: 'a/b', name: '../x?y' })).toBe(
    '/api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy',
  )
  expect(pathOf({ kind: PODS, namespace: 'a', name: '..' })).toBe('/api/v1/namespaces/a/pods/..%2F')
})

test('the error of an immutable ConfigMap says how to end its faults', () => {
  const message =
    'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set'
  const error = responseError('patch a', 422, bytes({ message }), 'c')
  expect(error.code).toBe('invalid')
  expect(error.message).toBe(
    `cannot patch a: ${message}; delete the ConfigMap and the pods that read it, and create it anew without immutable`,
  )
})
