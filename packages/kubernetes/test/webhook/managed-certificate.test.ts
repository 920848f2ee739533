// part: slow
import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { managedCertificate } from '../../src/webhook/managed-certificate.ts'
import { createCa } from '../../src/webhook/issue-certificate.ts'
import { ServingCertificate } from '../../src/webhook/serving-certificate.ts'
import type { ServingPair } from '../../src/webhook/serving-certificate.ts'
import { createWebhookMetrics } from '../../src/webhook/webhook-metrics.ts'
import { splitPem } from '../../src/webhook/managed-secret.ts'
import { type Cluster, startCluster } from '../../../../test/support/cluster.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'

const opened = closers()
const SECRET = '/api/v1/namespaces/chaos/secrets/squall-webhook'
const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/squall'
const OPTIONS = {
  secret: 'squall-webhook',
  namespace: 'chaos',
  configuration: 'squall',
  hosts: ['squall.chaos.svc'] as const,
  caMs: 3_600_000,
  servingMs: 600_000,
  rotateBeforeMs: 300_000,
  checkMs: 40,
  settleMs: 0,
}

async function start(): Promise<Cluster> {
  const cluster = await startCluster('api', 'chaos')
  opened(cluster)
  cluster.api.put(CONFIGURATION, {
    webhooks: [
      { name: 'inject.squall.dev', clientConfig: { service: { name: 'squall' } } },
      { name: 'label.squall.dev', clientConfig: { service: { name: 'squall' } } },
    ],
  })
  return cluster
}

interface Replica {
  readonly certificate: ServingCertificate
  readonly managed: ReturnType<typeof managedCertificate>
  readonly problems: string[]
  readonly swaps: ServingPair[]
}

function replica(
  cluster: Cluster,
  options: Partial<typeof OPTIONS> = {},
  now: () => number = () => Date.now(),
): Replica {
  const problems: string[] = []
  const quiet = (): void => undefined
  const logger = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (fields: { detail?: string }) => void problems.push(String(fields.detail)),
  }
  const certificate = new ServingCertificate(logger, createWebhookMetrics('test'), now)
  const swaps: ServingPair[] = []
  certificate.onSwap((pair) => swaps.push(pair))
  const parts = { client: cluster.client, certificate, logger, now }
  const managed = managedCertificate({ ...OPTIONS, ...options }, parts)
  opened(managed)
  return { certificate, managed, problems, swaps }
}

function trusted(cluster: Cluster): readonly string[][] {
  const { webhooks } = cluster.api.store.get(CONFIGURATION) as {
    webhooks: { clientConfig: { caBundle?: string; service: unknown } }[]
  }
  return webhooks.map(({ clientConfig }) => {
    expect(clientConfig.service).toEqual({ name: 'squall' })
    return [...splitPem(Buffer.from(clientConfig.caBundle ?? '', 'base64').toString())]
  })
}

function isTrusted(cluster: Cluster, cert: string): boolean {
  const serving = new X509Certificate(cert)
  return trusted(cluster).every((bundle) =>
    bundle.some((each) => serving.verify(new X509Certificate(each).publicKey)),
  )
}

test('a CA and a serving certificate are made, kept in the Secret, and trusted by all webhooks', async () => {
  const cluster = await start()
  const { managed, certificate } = replica(cluster)
  await managed.start()
  const serving = new X509Certificate(certificate.current!.cert)
  expect(serving.checkHost('squall.chaos.svc')).toBeDefined()
  expect(isTrusted(cluster, certificate.current!.cert)).toBe(true)
  const { type, data } = cluster.api.store.get(SECRET) as { type: string; data: object }
  expect(type).toBe('kubernetes.io/tls')
  expect(Object.keys(data).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
})

test('a Secret that was made empty is filled, and stays of its type', async () => {
  const cluster = await start()
  cluster.api.put(SECRET, { type: 'Opaque', metadata: { labels: { chart: 'squall' } } })
  await replica(cluster).managed.start()
  expect(cluster.api.store.get(SECRET)).toMatchObject({
    type: 'Opaque',
    metadata: { labels: { chart: 'squall', 'app.kubernetes.io/part-of': 'squall' } },
    data: { 'tls.crt': expect.any(String) as string },
  })
})

test('what another replica made is taken, and nothing is written', async () => {
  const cluster = await start()
  const first = replica(cluster)
  await first.managed.start()
  const writes = cluster.api.seen.filter(({ method }) => method !== 'GET').length
  const second = replica(cluster)
  await second.managed.start()
  expect(second.certificate.current!.cert).toBe(first.certificate.current!.cert)
  expect(cluster.api.seen.filter(({ method }) => method !== 'GET')).toHaveLength(writes)
})

test('replicas that start at once agree on one CA', async () => {
  const cluster = await start()
  const replicas = Array.from({ length: 5 }, () => replica(cluster))
  await Promise.all(replicas.map(({ managed }) => managed.start()))
  await eventually(() => {
    const certs = new Set(replicas.map(({ certificate }) => certificate.current?.cert))
    return certs.size === 1 ? undefined : `${certs.size} certificates`
  })
  expect(trusted(cluster).map((bundle) => bundle.length)).toEqual([1, 1])
  expect(replicas.flatMap(({ problems }) => problems)).toEqual([])
})

test('a serving certificate is renewed in time, under the same CA, by exactly one of two replicas', async () => {
  const cluster = await start()
  let at = Date.now()
  const pair = [replica(cluster, {}, () => at), replica(cluster, {}, () => at)]
  await Promise.all(pair.map(({ managed }) => managed.start()))
  const before = pair[0]!.certificate.current!.serial
  const bundle = trusted(cluster)
  at += 301_000
  await eventually(() => {
    const now = pair.map(({ certificate }) => certificate.current!.serial)
    return now[0] === now[1] && now[0] !== before ? undefined : `still ${now.join(' ')}`
  })
  expect(trusted(cluster)).toEqual(bundle)
  const puts = cluster.api.seen.filter(({ method, path }) => method === 'PUT' && path === SECRET)
  const accepted = Number(
    (cluster.api.store.get(SECRET) as { metadata: { resourceVersion: string } }).metadata
      .resourceVersion,
  )
  expect(puts.length).toBeGreaterThanOrEqual(1)
  expect(accepted).toBeGreaterThan(0)
  expect(pair.map(({ swaps }) => swaps.length)).toEqual([2, 2])
})

test('a serving certificate of a new CA is never used before the webhooks trust it', async () => {
  const cluster = await start()
  let at = Date.now()
  const { managed, certificate, swaps } = replica(
    cluster,
    { caMs: 1_300_000, settleMs: 30 },
    () => at,
  )
  const early: string[] = []
  certificate.onSwap((next) => {
    if (!isTrusted(cluster, next.cert)) early.push(next.serial)
    swaps.push(next)
  })
  await managed.start()
  const old = certificate.current!.cert
  at += 800_000
  await eventually(() => (swaps.length === 2 ? undefined : `${swaps.length} swaps`))
  expect(early).toEqual([])
  // Until it ends, replicas that still show the old serving certificate are trusted, too.
  expect(isTrusted(cluster, old)).toBe(true)
  expect(trusted(cluster)[0]).toHaveLength(2)
})

test('somebody who loses the race for the bundle reads it again', async () => {
  const cluster = await start()
  let meddled = 0
  cluster.api.before = ({ method, path }) => {
    if (method === 'PATCH' && path === CONFIGURATION && meddled++ < 3) {
      cluster.api.put(CONFIGURATION, { ...cluster.api.store.get(CONFIGURATION) })
    }
    return undefined
  }
  const { managed, certificate, problems } = replica(cluster)
  await managed.start()
  expect(meddled).toBe(4)
  expect(problems).toEqual([])
  expect(isTrusted(cluster, certificate.current!.cert)).toBe(true)
})

test('a Secret of somebody else is left alone', async () => {
  const cluster = await start()
  cluster.api.put(SECRET, { type: 'Opaque', data: { password: 'c2VjcmV0' } })
  const { managed, problems } = replica(cluster)
  const started = managed.start()
  await eventually(() => (problems.length > 0 ? undefined : 'no complaint'))
  expect(problems[0]).toContain('contains data of another program')
  expect((cluster.api.store.get(SECRET) as { data: object }).data).toEqual({ password: 'c2VjcmV0' })
  await managed.close()
  await started
})

test('what is damaged is made anew, and the other CAs stay trusted for a while', async () => {
  const cluster = await start()
  const first = replica(cluster, { checkMs: 60_000 })
  await first.managed.start()
  const secret = cluster.api.store.get(SECRET) as { data: Record<string, string> }
  cluster.api.put(SECRET, { ...secret, data: { ...secret.data, 'ca.key': 'bm8ga2V5' } })
  const second = replica(cluster)
  await second.managed.start()
  expect(isTrusted(cluster, second.certificate.current!.cert)).toBe(true)
  expect(isTrusted(cluster, first.certificate.current!.cert)).toBe(true)
})

test('an authority that nobody uses any more leaves the bundle', async () => {
  const cluster = await start()
  const now = Date.now()
  const stray = createCa('stray', {
    from: new Date(now - 1_000),
    until: new Date(now + 9e8),
  })
  const caBundle = Buffer.from(stray.cert).toString('base64')
  const webhooks = (
    cluster.api.store.get(CONFIGURATION) as { webhooks: { clientConfig: object }[] }
  ).webhooks
  cluster.api.put(CONFIGURATION, {
    webhooks: webhooks.map((each) => ({
      ...each,
      clientConfig: { ...each.clientConfig, caBundle },
    })),
  })
  let at = now
  await replica(cluster, {}, () => at).managed.start()
  expect(trusted(cluster)[0]).toHaveLength(2)
  at += 2_000
  await eventually(() => {
    const sizes = trusted(cluster).map((bundle) => bundle.length)
    return sizes.every((size) => size === 1) ? undefined : `${sizes.join(' ')} CAs`
  })
})

test('a missing permission is said with what to give', async () => {
  const cluster = await start()
  cluster.api.denied.add('patch mutatingwebhookconfigurations')
  const { managed, certificate, problems } = replica(cluster)
  const started = managed.start()
  await eventually(() => (problems.length > 0 ? undefined : 'no complaint'))
  expect(problems[0]).toContain(
    'give tester a ClusterRole with apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"], verbs: ["patch"]',
  )
  expect(certificate.current).toBeUndefined()
  cluster.api.denied.clear()
  await started
  expect(certificate.trouble).toBeUndefined()
})

test('CAs of another mode stay trusted, once the chart says that the mode has changed', async () => {
  const cluster = await start()
  const { managed, certificate } = replica(cluster)
  await managed.start()
  const other = createCa('chart', {
    from: new Date(0),
    until: new Date(Date.now() + 3_600_000),
  })
  const own = certificate.current!.cert
  cluster.api.put(CONFIGURATION, {
    metadata: { annotations: { 'squall.dev/certificates': 'generated' } },
    webhooks: [
      {
        name: 'inject.squall.dev',
        clientConfig: {
          service: { name: 'squall' },
          caBundle: Buffer.from(other.cert).toString('base64'),
        },
      },
    ],
  })
  await eventually(() => (isTrusted(cluster, own) ? undefined : 'not trusted yet'))
  // Longer than CAs of others stay otherwise.
  const looks = cluster.api.seen.length
  await eventually(() => (cluster.api.seen.length > looks + 100 ? undefined : 'not looked at yet'))
  expect(trusted(cluster)[0]).toContain(other.cert)
})

test('the bundle of the validating webhooks is kept, too', async () => {
  const cluster = await start()
  const path = CONFIGURATION.replace('mutating', 'validating')
  cluster.api.put(path, { webhooks: [{ name: 'rules.squall.dev', clientConfig: {} }] })
  const { managed } = replica(cluster, { validating: 'squall' } as object)
  await managed.start()
  const { webhooks } = cluster.api.store.get(path) as {
    webhooks: { clientConfig: { caBundle: string } }[]
  }
  const bundle = Buffer.from(webhooks[0]!.clientConfig.caBundle, 'base64').toString()
  expect(splitPem(bundle)).toEqual(trusted(cluster)[0])
})
