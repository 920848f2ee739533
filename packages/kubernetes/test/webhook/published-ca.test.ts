import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCa } from '../../src/webhook/issue-certificate.ts'
import { splitPem } from '../../src/webhook/managed-secret.ts'
import { MountedCertificate } from '../../src/webhook/mounted-certificate.ts'
import { publishedCa } from '../../src/webhook/published-ca.ts'
import { ServingCertificate } from '../../src/webhook/serving-certificate.ts'
import { createWebhookMetrics } from '../../src/webhook/webhook-metrics.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import {
  type Cluster,
  lasting,
  mountPair,
  servingPair,
  startCluster,
} from '../../../../test/support/cluster.ts'

const opened = closers()
const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/squall'
const OPTIONS = { configuration: 'squall', checkMs: 30, settleMs: 0 }

const caOf = (name: string): string => createCa(name, lasting(3_600_000)).cert

async function start(previous: string): Promise<Cluster> {
  const cluster = opened(await startCluster('api', 'chaos'))
  const caBundle = Buffer.from(previous).toString('base64')
  cluster.api.put(CONFIGURATION, {
    metadata: { annotations: { 'squall.dev/certificates': 'certManager' } },
    webhooks: [{ name: 'inject.squall.dev', clientConfig: { caBundle } }],
  })
  return cluster
}

async function caFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-ca-'))
  opened({ close: () => rm(directory, { recursive: true }) })
  return join(directory, 'ca.crt')
}

function publisher(cluster: Cluster, file: string) {
  const problems: string[] = []
  const quiet = (): void => undefined
  const error = (fields: { detail?: string }): void => void problems.push(String(fields.detail))
  const logger = { debug: quiet, info: quiet, warn: quiet, error }
  const now = (): number => Date.now()
  const certificate = new ServingCertificate(logger, createWebhookMetrics('test'), now)
  const ca = publishedCa(file, OPTIONS, { client: cluster.client, certificate, logger, now })
  opened(ca)
  return { ca, problems }
}

function trusted(cluster: Cluster): readonly string[] {
  const { webhooks } = cluster.api.store.get(CONFIGURATION) as {
    webhooks: { clientConfig: { caBundle: string } }[]
  }
  return splitPem(Buffer.from(webhooks[0]!.clientConfig.caBundle, 'base64').toString())
}

test('the CA of a mounted certificate is trusted beside the previous one, and so is each renewed CA', async () => {
  const [previous, first, renewed] = [caOf('previous'), caOf('first'), caOf('next')]
  const cluster = await start(previous)
  const file = await caFile()
  await writeFile(file, first)
  const { ca } = publisher(cluster, file)
  await ca.start()
  expect(trusted(cluster)).toEqual([first, previous])
  expect(ca.isPublished()).toBe(true)
  cluster.api.denied.add('patch mutatingwebhookconfigurations')
  await writeFile(file, renewed)
  expect(ca.isPublished()).toBe(false)
  cluster.api.denied.clear()
  await eventually(() => (ca.isPublished() ? undefined : 'not published'))
  expect(trusted(cluster)).toEqual([renewed, first, previous])
})

test('a CA that another program took out of the webhook configuration comes back', async () => {
  const [previous, first] = [caOf('previous'), caOf('first')]
  const cluster = await start(previous)
  const file = await caFile()
  await writeFile(file, first)
  await publisher(cluster, file).ca.start()
  const caBundle = Buffer.from(previous).toString('base64')
  const webhooks = [{ name: 'inject.squall.dev', clientConfig: { caBundle } }]
  cluster.api.put(CONFIGURATION, { metadata: {}, webhooks })
  await eventually(() => (trusted(cluster).includes(first) ? undefined : 'still gone'))
  expect(trusted(cluster)).toEqual([first, previous])
})

test('a certificate whose issuer provides no CA is reported, and published once it has one', async () => {
  const [previous, first] = [caOf('previous'), caOf('first')]
  const cluster = await start(previous)
  const file = await caFile()
  await writeFile(file, '')
  const { ca, problems } = publisher(cluster, file)
  const started = ca.start()
  await eventually(() => (problems.length > 0 ? undefined : 'not reported'))
  expect(problems[0]).toContain('contains no certificate; the issuer must provide its CA')
  expect(trusted(cluster)).toEqual([previous])
  await writeFile(file, first)
  await started
  expect(trusted(cluster)).toEqual([first, previous])
})

test('a renewed certificate is served only once its CA is published', async () => {
  const first = servingPair()
  const mounted = await mountPair(first)
  opened({ close: () => mounted.remove() })
  const quiet = (): void => undefined
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const certificate = new ServingCertificate(logger, createWebhookMetrics('test'), () => Date.now())
  let asked = 0
  let published = true
  const isPublished = (): boolean => {
    asked++
    return published
  }
  const looks = { settleMs: 5, pollMs: 20, trustMs: 50, isPublished }
  opened(new MountedCertificate(mounted.directory, certificate, looks))
  published = false
  const next = servingPair()
  const swapped = new Promise((resolve) => certificate.onSwap(resolve))
  await mounted.swap(next)
  await eventually(() => (asked > 5 ? undefined : 'not looked at'))
  expect(certificate.current?.cert).toBe(first.cert)
  published = true
  await swapped
  expect(certificate.current?.cert).toBe(next.cert)
})
