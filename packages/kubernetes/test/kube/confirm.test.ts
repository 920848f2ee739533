// part: slow
import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { startUpstream } from '../../../../test/support/wire.ts'

const opened = closers()
const PASSWORD = 'a-password-that-nobody-may-see'
const MANY = 100

/** Starts a namespace with many pods, which share one sidecar. */
async function start(count = MANY): Promise<Shop> {
  const shop = opened(await startCluster('shop'))
  const { admin } = await shop.addPod('shop-0')
  const path = '/api/v1/namespaces/shop/pods/shop-'
  const first = shop.api.store.get(`${path}0`)!
  for (let i = 1; i < count; i++) {
    const metadata = { ...(first['metadata'] as object), name: `shop-${i}`, uid: `uid-${i}` }
    shop.api.put(`${path}${i}`, { ...first, metadata })
    shop.api.sidecars.set(`shop/shop-${i}`, admin)
  }
  return shop
}

type Responder = (query: string, response: ServerResponse, request: IncomingMessage) => void

/** Starts what --confirm reads; returns the flag and the queries so far. */
async function monitor(respond: Responder, more = '') {
  const queries: string[] = []
  const server = await startUpstream((request, response) => {
    const query = new URL(request.url!, 'http://x').searchParams.get('query') ?? ''
    queries.push(query)
    respond(query, response, request)
  })
  opened(server)
  const flags = ['--confirm', `prometheus=http://127.0.0.1:${server.port}/prefix${more}`]
  return { queries, flags }
}

/** Responds as Prometheus does, with series that all have this age. */
function rows(names: readonly string[], digest: string | undefined, ageSeconds: number): string {
  const at = Date.now() / 1000 - ageSeconds
  const result = names.map((pod) => ({
    metric: { namespace: 'shop', pod, ...(digest !== undefined && { digest }) },
    value: [at, String(at)],
  }))
  return JSON.stringify({ status: 'success', data: { resultType: 'vector', result } })
}

const all = (count = MANY): string[] => Array.from({ length: count }, (_, i) => `shop-${i}`)
const digestIn = (query: string): string => /digest=~"([0-9a-f|]+)"/.exec(query)![1]!

/** Counts the requests for the state of a sidecar. */
function asked({ api }: Shop): number {
  return api.seen.filter(({ path }) => path.endsWith('/proxy/api/state')).length
}

async function rulesFile({ directory }: Shop, text = failing('first')): Promise<string> {
  const file = join(directory, 'rules.yaml')
  await writeFile(file, text)
  return file
}

test('apply looks pods up in Prometheus and asks a sample of the sidecars', async () => {
  const shop = await start()
  const { queries, flags } = await monitor(
    (query, response) => response.end(rows(all(), digestIn(query), -1)),
    '?cluster=eu',
  )
  const file = await rulesFile(shop)
  const { code, out, err } = await shop.apply('-f', file, '--json', ...flags)
  expect(code, err + out).toBe(0)
  const { pods } = JSON.parse(out) as { pods: { state: string; detail: string }[] }
  expect(pods.filter(({ state }) => state === 'applied')).toHaveLength(MANY)
  const direct = pods.filter(({ detail }) => detail === 'armed')
  expect(direct.length).toBeGreaterThan(0)
  expect(direct.length).toBeLessThan(MANY / 2)
  // A sidecar that did not respond in time is asked again.
  expect(asked(shop)).toBeLessThan(60)
  const selector = /^max by \(namespace, pod, digest\) \(timestamp\((.*)\) and (.*) == 1\)$/.exec(
    queries[0]!,
  )!
  expect(selector[1]).toBe(
    `squall_rules_info{namespace="shop", digest=~"${digestIn(queries[0]!)}", cluster=~"eu"}`,
  )
  expect(selector[2]).toBe(selector[1])
})

test.each([
  ['stop', 1],
  ['resume', 0],
] as const)('%s asks Prometheus for the series of the stop', async (action, value) => {
  const shop = await start()
  if (action === 'resume') await shop.stop('-n', 'shop')
  const before = asked(shop)
  const { queries, flags } = await monitor((_, response) =>
    response.end(rows(all(), undefined, -1)),
  )
  const { code, out } = await shop[action]('-n', 'shop', ...flags)
  expect(code, out).toBe(0)
  expect(out).toContain(`confirmed by ${MANY} of ${MANY} pods`)
  expect(asked(shop) - before).toBeLessThan(60)
  const series = 'squall_disarmed_reason{reason="stopped", namespace=~"shop"}'
  expect(queries[0]).toBe(
    `max by (namespace, pod, digest) (timestamp(${series}) and ${series} == ${value})`,
  )
})

test('samples from before the change do not count', async () => {
  const shop = await start(40)
  const { flags } = await monitor((query, response) =>
    response.end(rows(all(40), digestIn(query), 30)),
  )
  const file = await rulesFile(shop)
  const { code, out } = await shop.apply('-f', file, '--timeout', '1s', ...flags)
  expect(code).toBe(1)
  expect(out).toMatch(/shop-\d+: waiting, not in Prometheus yet/)
})

test('all sidecars are asked when Prometheus shows as done what is not', async () => {
  const shop = await start()
  // Its kubelet never delivers, so no sidecar has the rules.
  shop.api.denied.add('patch pods')
  const { flags } = await monitor((query, response) =>
    response.end(rows(all(), digestIn(query), -1)),
  )
  const file = await rulesFile(shop)
  const args = ['-f', file, '--timeout', '10s', '--min', '50%']
  const { code, out, err } = await shop.apply(...args, ...flags)
  expect(err).toMatch(
    /warning: Prometheus and the sidecar of shop-\d+ disagree; each sidecar is queried directly\n/,
  )
  expect(out).toContain(`rules loaded in 0 of ${MANY} pods`)
  expect(out).toContain('still has')
  expect(code).toBe(1)
})

test('sidecars that Prometheus does not scrape are asked directly', async () => {
  const shop = await start(40)
  const { flags } = await monitor((_, response) => response.end(rows([], undefined, 0)))
  const { code, out } = await shop.stop('-n', 'shop', ...flags)
  expect(code).toBe(0)
  expect(out).toContain('confirmed by 40 of 40 pods')
})

const HUGE = Buffer.alloc(5 * 1024 * 1024, 0x20)

test.each<[string, Responder, RegExp]>([
  [
    'rejects the query',
    (_, response) => void response.writeHead(400).end(PASSWORD),
    /\/api\/v1\/query responded with status 400/,
  ],
  [
    'redirects',
    (_, response) => void response.writeHead(302, { location: `http://x:${PASSWORD}@y/` }).end(),
    /responded with status 302/,
  ],
  ['sends no JSON', (_, response) => void response.end(PASSWORD), /returned invalid JSON/],
  ['sends 5 MiB', (_, response) => void response.end(HUGE), /sent more than 4194304 bytes/],
  ['closes the connection', (_, response) => void response.destroy(), /UND_ERR_SOCKET|ECONNRESET/],
  ['never ends', (_, response) => void response.write('{'), /no response within 5 s/],
])('all sidecars are asked when Prometheus %s', async (_, respond, why) => {
  const shop = await start(30)
  const { flags, queries } = await monitor((...args) => respond(...args))
  const { code, out, err } = await shop.stop('-n', 'shop', ...flags)
  expect(code, out).toBe(0)
  expect(out).toContain('confirmed by 30 of 30 pods')
  expect(err).toMatch(/warning: Prometheus cannot be read: .+; each sidecar is queried directly\n/)
  expect(err).toMatch(why)
  expect(err + out).not.toContain(PASSWORD)
  expect(queries).toHaveLength(1)
})

test('series of a strange form confirm no pod', async () => {
  const shop = await start(30)
  const strange = JSON.stringify({
    data: {
      result: [
        7,
        { metric: null, value: [0, '9e9'] },
        { metric: { namespace: { toString: 1 }, pod: [], digest: {} }, value: [0, '9e9'] },
        { metric: { namespace: 'shop', pod: 'shop-1' }, value: '9e9' },
        { metric: { namespace: 'shop', pod: 'shop-1' }, value: [0, {}] },
      ],
    },
  })
  const { flags } = await monitor((_, response) => response.end(strange))
  const { code, out } = await shop.stop('-n', 'shop', '--json', ...flags)
  expect(code).toBe(0)
  expect(out).not.toContain('by Prometheus')
})

/** Returns the state of a sidecar of another version, to which the rules are wrong. */
async function rejecting(admin: string): Promise<object> {
  const response = await fetch(`${admin}/api/state`)
  const state = (await response.json()) as { rules: object; lastReload: object }
  const place = { file: 'rules.yaml', line: 1, column: 1, path: 'rules' }
  const problems = [{ ...place, code: 'unknown_key', message: 'unknown key "percnt"' }]
  const lastReload = { ...state.lastReload, result: 'rejected', problemCount: 1, problems }
  return { ...state, rules: { ...state.rules, digest: null }, lastReload }
}

test('all sidecars are asked when one rejects the rules', async () => {
  const shop = await start()
  const admin = shop.api.sidecars.get('shop/shop-0')!
  const old = opened(
    await startUpstream((_, response) => {
      void rejecting(admin).then((state) => response.end(JSON.stringify(state)))
    }),
  )
  for (const name of all()) shop.api.sidecars.set(`shop/${name}`, `http://127.0.0.1:${old.port}`)
  const { flags } = await monitor((_, response) => response.end(rows([], undefined, 0)))
  const file = await rulesFile(shop)
  const { code, out, err } = await shop.apply('-f', file, '--timeout', '30s', ...flags)
  expect(err + out).toMatch(/warning: \S+ rejected the rules; each sidecar is queried directly/)
  expect(out).toContain('fix the file and apply it again')
  expect(code).toBe(1)
})

test('a token goes to Prometheus alone, as Authorization', async () => {
  const shop = await start(3)
  const tokens: unknown[] = []
  const { flags } = await monitor((_, response, { headers }) => {
    tokens.push(headers.authorization)
    response.writeHead(403).end()
  })
  const args = ['stop', '-n', 'shop', '--kubeconfig', shop.kubeconfig, ...flags]
  const env = { SQUALL_MONITOR_TOKEN: ` ${PASSWORD}\n` }
  const { code, stdout, stderr } = await startProgram(args, env, { here: true })
  expect(code, stderr).toBe(0)
  expect(tokens).toEqual([`Bearer ${PASSWORD}`])
  expect(stdout + stderr).not.toContain(PASSWORD)
  expect(shop.api.seen.map(({ token }) => token)).not.toContain(PASSWORD)
})

test('a URL with a password is rejected and not repeated', async () => {
  for (const text of [`prometheus=http://me:${PASSWORD}@x`, `thanos=http://x/${PASSWORD}`]) {
    const args = ['stop', '-n', 'shop', '--confirm', text]
    const { code, stderr } = await startProgram(args, {}, { here: true })
    expect(code).toBe(2)
    expect(stderr).toContain('--confirm: expected prometheus= and an http URL without a password')
    expect(stderr).not.toContain(PASSWORD)
  }
})

test.each([
  ['stop', ['-n', 'shop', '--timeout', '3s'], {}],
  ['stop', [], { SQUALL_NAMESPACE: 'shop', SQUALL_TIMEOUT: '3s' }],
  ['apply', ['-n', 'shop'], { SQUALL_TIMEOUT: '3s' }],
])('%s %j with %j waits as long as asked', async (action, args, env) => {
  const shop = await start(1)
  shop.addPaper('silent', { sidecar: { running: { startedAt: 'now' } } })
  const { flags } = await monitor((_, response) => response.end(rows([], undefined, 0)))
  const file = action === 'apply' ? ['-f', await rulesFile(shop)] : []
  const line = [action, ...args, ...file, '--kubeconfig', shop.kubeconfig, ...flags]
  const begun = performance.now()
  const { code, stdout } = await startProgram(line, env, { here: true })
  expect(performance.now() - begun).toBeLessThan(10_000)
  expect(stdout).toContain('1 of 2 pods')
  expect(code).toBe(1)
})

test('--confirm is suggested for more than 500 pods, and not for fewer', async () => {
  const shop = await start(501)
  const few = await shop.stop('-n', 'shop', '--dry-run')
  expect(few.err).not.toContain('--confirm')
  const { code, err } = await shop.stop('-n', 'shop', '--min', '1%')
  expect(code).toBe(0)
  expect(err).toContain(
    'querying 501 sidecars directly; with --confirm prometheus=URL, Prometheus confirms most of them\n',
  )
})
