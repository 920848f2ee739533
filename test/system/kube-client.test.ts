// part: api-server
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { touchPods, writeConfigMap } from '../../packages/kubernetes/src/kube/apply-rules.ts'
import { connectKube } from '../../packages/kubernetes/src/kube/connect.ts'
import { readInjectedPod } from '../../packages/kubernetes/src/kube/injected-pod.ts'
import type { KubeClient } from '../../packages/kubernetes/src/kube/kube-client.ts'
import { isKubeError } from '../../packages/kubernetes/src/kube/kube-error.ts'
import {
  CONFIG_MAPS,
  metadataOf,
  MUTATING_WEBHOOKS,
  PODS,
} from '../../packages/kubernetes/src/kube/resources.ts'
import { splitPem } from '../../packages/kubernetes/src/webhook/managed-secret.ts'
import { managedCertificate } from '../../packages/kubernetes/src/webhook/managed-certificate.ts'
import { ServingCertificate } from '../../packages/kubernetes/src/webhook/serving-certificate.ts'
import { createWebhookMetrics } from '../../packages/kubernetes/src/webhook/webhook-metrics.ts'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'
import { startCluster } from '../support/cluster.ts'

// Checks against a real API server the behaviour that the tests' own API server assumes.
const missing = apiServerMissing()
if (missing !== undefined) {
  process.stderr.write(`tests with an API server are left out: ${missing}\n`)
}

describe.skipIf(missing !== undefined)('with a real API server', () => {
  let server: ApiServer
  let client: KubeClient
  const place = { kind: CONFIG_MAPS, namespace: 'default', name: 'rules' }

  const connect = (kubeconfig: string): KubeClient =>
    connectKube({ kubeconfig, context: undefined, env: {}, version: 'test' })

  const codeOf = (action: Promise<unknown>): Promise<string> =>
    action.then(
      () => 'done',
      (error: { code: string }) => error.code,
    )

  beforeAll(async () => {
    server = await startCluster('control-plane')
    client = connect(server.kubeconfig)
  }, 120_000)
  afterAll(async () => {
    await client?.close()
    await server?.close()
  })

  it('refuses what is stale, double or gone by the codes that are expected', async () => {
    const made = await client.create(place, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'rules' },
      data: { a: '1' },
    })
    await client.patch(place, 'merge', { data: { b: '2' } })
    expect((await client.get(place))['data']).toEqual({ a: '1', b: '2' })
    expect(await codeOf(client.replace(place, made))).toBe('conflict')
    expect(await codeOf(client.create(place, { metadata: { name: 'rules' } }))).toBe('exists')
    expect(await codeOf(client.get({ ...place, name: 'gone' }))).toBe('not_found')
    expect(await codeOf(client.get({ ...place, namespace: '../x' }))).not.toBe('done')
  })

  it('says which right is missing, so that it can be given', async () => {
    await server.run('kubectl', ['create', 'serviceaccount', 'tester'])
    const { text } = await server.run('kubectl', ['create', 'token', 'tester'])
    const tester = connect(server.kubeconfigFor(text.trim()))
    const error = await tester.patch(place, 'merge', {}).catch((caught: unknown) => caught)
    await tester.close()
    expect(isKubeError(error, 'forbidden')).toBe(true)
    expect(String(error)).toContain(
      'give system:serviceaccount:default:tester a Role in "default" with apiGroups: [""], resources: ["configmaps"], verbs: ["patch"]',
    )
    expect(String(error)).not.toContain(text.trim())
    const stranger = connect(server.kubeconfigFor('nobody-knows-this'))
    expect(await codeOf(stranger.get(place))).toBe('unauthorized')
    await stranger.close()
  })

  it('takes rules and touched pods as apply writes them', async () => {
    const target = {
      namespace: 'default',
      configMap: 'squall-rules',
      key: 'rules.yaml',
      text: 'rules: []\n',
      prefix: 'squall.dev/',
    }
    const first = await writeConfigMap(client, target, undefined, {})
    expect(first.change).toBe('created')
    const none = { ...target, text: '# none\n', by: 'alice' }
    const second = await writeConfigMap(client, none, first.kept, {})
    expect(second.change).toBe('changed')
    // Two people who saw what was there before learn who was first, and when.
    for (const before of [undefined, first.kept]) {
      await expect(
        writeConfigMap(client, { ...target, text: '# other\n' }, before, {}),
      ).rejects.toThrow(
        /changed while the command was running, by alice at 20\S+Z; no rules were applied/,
      )
    }
    // A program that does not know of the annotation goes by its own name.
    await client.request({
      method: 'PATCH',
      path: '/api/v1/namespaces/default/configmaps/squall-rules',
      query: { fieldManager: 'editor' },
      patch: 'merge',
      body: { data: { 'rules.yaml': '# edited\n' } },
      what: 'edit the rules',
    })
    await expect(
      writeConfigMap(client, { ...target, text: '# other\n' }, second.kept, {}),
    ).rejects.toThrow(/changed while the command was running, by editor at 20/)
    const pods = { kind: PODS, namespace: 'default' }
    for (const name of ['one', 'two', 'three']) {
      await client.create(
        { ...pods, name },
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name, labels: { app: 'shop' } },
          spec: { containers: [{ name: 'squall', image: 'squall' }] },
        },
      )
    }
    const found = await client.list(pods, 'app=shop')
    const injected = found.map((pod) => readInjectedPod(pod, 'squall.dev/')!)
    expect(await touchPods(client, injected, 'squall.dev/', new Date(), {})).toEqual([])
    const touched = await client.get({ ...pods, name: 'two' })
    expect(metadataOf(touched).annotations['squall.dev/rules-touched']).toMatch(/Z$/)
  })

  it('lets replicas that start at once agree on one CA, which all webhooks trust', async () => {
    const configuration = { kind: MUTATING_WEBHOOKS, name: 'squall' }
    const webhook = (name: string): object => ({
      name,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      // No rules: the API server must not call this webhook.
      rules: [],
      clientConfig: { service: { name: 'squall', namespace: 'default' } },
    })
    await client.create(configuration, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'squall' },
      webhooks: [webhook('one.squall.dev'), webhook('two.squall.dev')],
    })
    const certificates = await Promise.all(Array.from({ length: 4 }, () => managed(client)))
    const shown = new Set(certificates.map(({ current }) => current?.cert))
    expect(shown.size).toBe(1)
    const { webhooks } = (await client.get(configuration)) as unknown as {
      webhooks: { clientConfig: { caBundle: string; service: { name: string } } }[]
    }
    const serving = new X509Certificate([...shown][0]!)
    for (const { clientConfig } of webhooks) {
      expect(clientConfig.service.name).toBe('squall')
      const bundle = splitPem(Buffer.from(clientConfig.caBundle, 'base64').toString())
      expect(bundle).toHaveLength(1)
      expect(serving.verify(new X509Certificate(bundle[0]!).publicKey)).toBe(true)
    }
  })
})

async function managed(client: KubeClient): Promise<ServingCertificate> {
  const quiet = (): void => undefined
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const now = (): number => Date.now()
  const certificate = new ServingCertificate(logger, createWebhookMetrics('test'), now)
  const replica = managedCertificate(
    {
      secret: 'squall-webhook',
      namespace: 'default',
      configuration: 'squall',
      hosts: ['squall.default.svc'],
      caMs: 36_000_000,
      servingMs: 3_600_000,
      rotateBeforeMs: 600_000,
      checkMs: 60_000,
      settleMs: 0,
    },
    { client, certificate, logger, now },
  )
  await replica.start()
  await replica.close()
  return certificate
}
