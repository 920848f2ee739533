/*
 * DNS rebinding. Somebody opens a page at http://rebound.example:15390. Its owner then lets that name
 * lead to 127.0.0.1, where the victim forwards the admin port of a sidecar. For the browser the page
 * and the port are one origin, so that its scripts may read every response and set every header but
 * those that browsers keep for themselves: `host`, and all that begin with `sec-`. Over plain HTTP
 * browsers send no `sec-fetch-site` either. What gives such a page away is its `Host` alone.
 */
import { expect, it } from 'vitest'
import { serveMetrics } from '../../packages/experiments/src/load/results/metrics-server.ts'
import { isTrustedHost } from '../../src/http/trusted-host.ts'
import { askedAs } from './asked-as.ts'
import { closers } from '../support/closers.ts'
import { RULES, TOKEN, type ApiSetup } from './api-setup.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const READS = ['/', '/metrics', '/api/state', '/api/rules', '/api/injections', '/api/events']
/** Requests that a hostile page would try. */
const FORGED = {
  'x-forwarded-host': '127.0.0.1',
  'x-forwarded-uri': '/api/v1/namespaces/shop/pods/web:15390/proxy/api/state',
  'user-agent': 'Prometheus/3.0',
  accept: '*/*',
}

async function start(setup: ApiSetup = {}) {
  const api = await startSquall({ admin: setup })
  opened(api)
  api.take(RULES)
  return api
}

it.each(READS)('lets no page read %s by a name of its own', async (path) => {
  const { port, log } = await start()
  for (const host of [
    'rebound.example',
    `rebound.example:${port}`,
    'REBOUND.EXAMPLE.',
    '127.0.0.1.rebound.example',
    'localhost.rebound.example',
    'svc.rebound.example',
    'rebound.example#.svc',
    'user@127.0.0.1',
  ]) {
    const { status, body } = await askedAs(port, path, { ...FORGED, host })
    expect(status).toBe(403)
    expect(body).toContain('--admin-hosts')
    expect(body).not.toContain('slow')
  }
  expect(log[0]).toMatchObject({
    level: 'warn',
    message: 'rejected a read on the admin port',
    fields: { what: path, from: '127.0.0.1' },
  })
  // Once, however often it was tried.
  expect(log).toHaveLength(1)
  expect(JSON.stringify(log)).not.toMatch(/rebound/i)
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(page).toContain('squall_admin_rejected_total{reason="host"} 8')
})

it.each([
  '127.0.0.1:15390',
  '10.42.0.17:15390',
  '[::1]:15390',
  '[fd00::17]',
  'localhost:15390',
  'squall.localhost',
  'squall',
  'squall-admin.shop.svc:15390',
  'squall-admin.shop.svc.cluster.local',
  'host.docker.internal:15390',
  'Mcp.Example.com:15390',
  'one.pods.example.com',
])('answers clients that ask for %s', async (host) => {
  const { port } = await start({ access: { hosts: ['mcp.example.com', '*.pods.example.com'] } })
  for (const path of READS) {
    expect((await askedAs(port, path, { host })).status).toBe(200)
  }
})

it('answers the probes of the kubelet by any name', async () => {
  const { port } = await start({ access: { readToken: 'a-read-token-of-tests' } })
  for (const path of ['/livez', '/readyz']) {
    expect((await askedAs(port, path, { host: 'shop.example.com' })).status).toBe(200)
  }
})

it("answers Squall's own clients and who has the admin token by any name", async () => {
  const { port } = await start()
  const host = 'api.cluster.example.com:6443'
  for (const headers of [
    { 'sec-squall-client': 'kube' },
    { authorization: `Bearer ${TOKEN}` },
    { 'x-squall-authorization': `Bearer ${TOKEN}` },
  ]) {
    expect((await askedAs(port, '/api/state', { host, ...headers })).status).toBe(200)
  }
  const wrong = { host, authorization: 'Bearer not-the-token-of-tests' }
  expect((await askedAs(port, '/api/state', wrong)).status).toBe(403)
})

it('lets no page read the metrics of a load', async () => {
  const server = await serveMetrics(
    { kind: 'tcp', host: '127.0.0.1', port: 0 },
    () => 'calls 1\n',
    ['load.example.com'],
  )
  opened(server)
  const port = Number(server.address.split(':')[1])
  const asked = (host: string) => askedAs(port, '/metrics', { host })
  expect(await asked('rebound.example')).toMatchObject({
    status: 403,
    body: expect.stringContaining('--metrics-hosts') as string,
  })
  expect((await asked('load.example.com')).body).toBe('calls 1\n')
  expect((await asked('10.0.0.1:9464')).body).toBe('calls 1\n')
})

it.each([
  ['', true],
  [undefined, true],
  ['example.com', false],
  ['x.example.com', true],
  ['[::1', false],
  ['[rebound.example]', false],
  ['127.0.0.1:15390:1', false],
  ['shop.dev', false],
  ['rebound.example/.svc', false],
])('trusts %s: %s', (host, trusted) => {
  expect(isTrustedHost(host, ['*.example.com'])).toBe(trusted)
})
