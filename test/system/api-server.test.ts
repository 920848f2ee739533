// part: api-server
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseCommandLine } from '../support/commands/command-line.ts'
import type { WebhookRequest } from '../../packages/kubernetes/src/commands/webhook.ts'
import { parseInjectorSettings } from '../../packages/kubernetes/src/injector/parse-settings.ts'
import { connectKube } from '../../packages/kubernetes/src/kube/connect.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { startWebhook, type Webhook } from '../../packages/kubernetes/src/webhook/start-webhook.ts'
import { type Manifest, manifestsOf } from '../deploy/manifest-problems.ts'
import { eventually } from '../support/eventually.ts'
import { type Admission, admissionOf, ASKS } from './admission.ts'
import { type ApiServer, apiServerMissing } from './api-server-process.ts'
import { CHART, HELM, helmMissing, NAMESPACE } from './helm.ts'
import { PATIENCE } from './patience.ts'
import { startCluster } from '../support/cluster.ts'

// A real API server decides which pods reach the webhook. There are no nodes, so no pod runs.
const missing = helmMissing() ?? apiServerMissing()
if (missing !== undefined)
  process.stderr.write(`tests with an API server are left out: ${missing}\n`)

const INSTALL = fileURLToPath(new URL('../../deploy/manifests/install.yaml', import.meta.url))
const VERSION = '0.1.0'
// Matches the response of the API server if it would create the pod.
const MADE = /"kind": "Pod"/
const CALLED = /failed calling webhook "inject\.squall\.dev"/
const INJECTED = /"squall\.dev\/status":/
const NAMESPACES = {
  shop: {},
  camel: { environment: 'shopProdEu-1' },
  live: { environment: 'production' },
  sale: { environment: 'Shop-PROD-2' },
  calm: { environment: 'product-nonprod' },
  tight: { 'pod-security.kubernetes.io/enforce': 'restricted' },
}

let server: ApiServer
let kubectl: Admission['kubectl']
let create: Admission['create']
let isActive: Admission['isActive']

/** Everything that has the chart's label, in the whole cluster. */
async function left(): Promise<string> {
  const kinds =
    'deploy,svc,cm,secret,sa,pdb,netpol,role,rolebinding,clusterrole,clusterrolebinding,mutatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding'
  return kubectl([
    'get',
    kinds,
    '-A',
    '-l',
    'app.kubernetes.io/part-of=squall',
    '-o',
    'name',
    '--ignore-not-found',
  ])
}

function caBundle(): Promise<string> {
  return kubectl([
    'get',
    'mutatingwebhookconfiguration',
    'squall',
    '-o',
    'jsonpath={.webhooks[0].clientConfig.caBundle}',
  ])
}

describe.skipIf(missing !== undefined)('a real API server', () => {
  beforeAll(async () => {
    server = await startCluster('control-plane')
    ;({ kubectl, create, isActive } = admissionOf(server))
    for (const [name, labels] of Object.entries(NAMESPACES)) {
      await kubectl(
        ['create', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
      )
    }
  }, 300_000)

  afterAll(() => server?.close())

  describe('with the chart, and no webhook that answers', () => {
    const release = ['squall', CHART, '-n', NAMESPACE]

    beforeAll(async () => {
      const { ok, text } = await server.run(HELM, ['install', ...release, '--create-namespace'])
      expect(ok, text).toBe(true)
      await isActive('shop', ASKS, CALLED)
    }, 180_000)

    it('refuses the pods that ask, and lets all others pass', async () => {
      for (const metadata of [ASKS, { labels: { 'squall.dev/inject': 'true' } }]) {
        const { ok, text } = await create('shop', 'asks', metadata)
        expect(ok).toBe(false)
        expect(text).toMatch(CALLED)
      }
      expect(await create('shop', 'plain', {})).toMatchObject({ ok: true })
      const not = { annotations: { 'squall.dev/inject': 'false', other: 'x' }, labels: { a: 'b' } }
      expect(await create('shop', 'not', not)).toMatchObject({ ok: true })
      expect(await create(NAMESPACE, 'own', ASKS)).toMatchObject({ ok: true })
      await kubectl(['label', 'namespace', 'tight', 'squall.dev/injection=disabled'])
      await isActive('tight', ASKS, MADE)
      expect(await create('tight', 'disabled', ASKS)).toMatchObject({ ok: true })
      await kubectl(['label', 'namespace', 'tight', 'squall.dev/injection-'])
    })

    it('refuses in production by the policy, and only those that ask', async () => {
      await isActive('live', ASKS, /counts as production/)
      const { ok, text } = await create('live', 'asks', ASKS)
      expect(ok).toBe(false)
      expect(text).toContain('counts as production')
      expect(await create('live', 'plain', {})).toMatchObject({ ok: true })
    })

    it('refuses labels that no selector can name, and none that look like them', async () => {
      // Without the webhook, which would say so first.
      const set = ['--set', 'webhook.failurePolicy=Ignore']
      const { ok, text } = await server.run(HELM, ['upgrade', ...release, ...set])
      expect(ok, text).toBe(true)
      await isActive('sale', ASKS, /counts as production/)
      await isActive('camel', ASKS, /counts as production/)
      expect(await create('calm', 'asks', ASKS)).toMatchObject({ ok: true })
    })

    it('stops rules that no webhook can check, and changes nothing else in them', async () => {
      const rules = {
        metadata: { name: 'squall-rules', labels: { 'squall.dev/rules': 'true' } },
        data: { 'rules.yaml': `rules: []\n#${'x'.repeat(900_000)}` },
      }
      const made = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', ...rules })
      await kubectl(['create', '-n', 'shop', '-f', '-'], made)
      const set = 'validation.rules.enabled=true,validation.rules.failurePolicy=Fail'
      expect(await server.run(HELM, ['upgrade', ...release, '--set', set])).toMatchObject({
        ok: true,
      })
      const patched = (patch: object): ReturnType<ApiServer['run']> => {
        const text = JSON.stringify(patch)
        return server.run('kubectl', ['patch', 'cm', 'squall-rules', '-n', 'shop', '-p', text])
      }
      const stops = (...all: object[]): object => ({
        data: { 'squall-stop': `${JSON.stringify({ stops: all })}\n` },
      })
      const denied = /failed calling webhook "anchor\.squall\.dev"/
      await eventually(async () => {
        const { ok } = await patched({
          data: { 'rules.yaml': `rules: []#${String(Math.random())}` },
        })
        return ok ? 'the webhook is not called yet' : undefined
      }, PATIENCE)
      const allowed = [
        { metadata: { annotations: { 'squall.dev/observed': '{}' } } },
        stops({ selector: 'app=a' }),
        { data: { 'squall-stop': '' } },
        stops({ at: 'now', by: 'a"]}\\' }),
      ]
      for (const patch of allowed) expect(await patched(patch)).toMatchObject({ ok: true })
      const others = [
        { data: { 'more.yaml': '' } },
        { data: { 'rules.yaml': null } },
        { data: { 'squall-stop': null } },
        { binaryData: { 'more.yaml': 'AAEC' } },
        { immutable: true },
        { metadata: { labels: { 'squall.dev/rules': 'separate-keys' } } },
        { data: { 'squall-stop': '{"stops":[{"at":"now"}],"stops":[]}' } },
        stops({ selector: 'app=a' }),
        stops(),
      ]
      for (const patch of others) expect((await patched(patch)).text).toMatch(denied)
    })

    it('keeps the certificate in upgrades, changes modes, and leaves nothing when it goes', async () => {
      const before = await caBundle()
      expect(before.length).toBeGreaterThan(100)
      for (const set of [
        'webhook.replicas=3',
        'certificates.mode=selfManaged',
        'certificates.mode=generated',
      ]) {
        const { ok, text } = await server.run(HELM, ['upgrade', ...release, '--set', set])
        expect(ok, text).toBe(true)
        if (set === 'webhook.replicas=3') expect(await caBundle()).toBe(before)
      }
      // Without nodes no Job of the chart runs.
      expect(
        (await server.run(HELM, ['uninstall', 'squall', '-n', NAMESPACE, '--no-hooks'])).ok,
      ).toBe(true)
      expect(await left()).toBe('')
    })
  })

  describe('with install.yaml, and a webhook with the rights that it gives', () => {
    let webhook: Webhook
    const stop = new AbortController()

    beforeAll(async () => {
      await kubectl(['apply', '-f', INSTALL])
      const token = await kubectl(['-n', NAMESPACE, 'create', 'token', 'squall'])
      webhook = await start(
        manifestsOf(readFileSync(INSTALL, 'utf8')),
        server.kubeconfigFor(token.trim()),
      )
      for (const namespace of ['shop', 'tight']) await isActive(namespace, ASKS, INJECTED)
    }, 240_000)

    afterAll(async () => {
      stop.abort()
      await webhook?.close()
    })

    async function start(manifests: readonly Manifest[], kubeconfig: string): Promise<Webhook> {
      const find = (kind: string): Manifest => manifests.find((each) => each.kind === kind)!
      const { template } = find('Deployment')['spec'] as {
        template: { spec: { containers: { args: string[] }[] } }
      }
      const data = find('ConfigMap')['data'] as Record<string, string>
      // There is no Service without nodes, so it is reached by its address.
      const own = template.spec.containers[0]!.args.filter((arg) => !/^--(listen|admin)=/.test(arg))
      const places = ['--listen=127.0.0.1:0', '--admin=127.0.0.1:0', '--tls-host=127.0.0.1']
      const asked = parseCommandLine([...own, ...places], {}, VERSION) as {
        request: WebhookRequest
      }
      const { request } = asked
      if (request.tls.kind !== 'managed')
        throw new Error('install.yaml manages certificates itself')
      const started = await startWebhook(
        {
          ...request,
          shutdownDelayMs: 0,
          version: VERSION,
          settings: parseInjectorSettings(parse(data['settings.yaml']!), VERSION),
          certificate: { ...request.tls, namespace: request.cluster.namespace! },
        },
        createLogger({ level: 'error', format: 'json' }),
        () =>
          Promise.resolve(
            connectKube({ kubeconfig, context: undefined, env: {}, version: VERSION }),
          ),
        stop.signal,
      )
      const url = `https://127.0.0.1:${(started.reviews as { port: number }).port}/mutate`
      await kubectl([
        'patch',
        'mutatingwebhookconfiguration',
        'squall',
        '--type=json',
        '-p',
        JSON.stringify([
          { op: 'remove', path: '/webhooks/0/clientConfig/service' },
          { op: 'add', path: '/webhooks/0/clientConfig/url', value: url },
        ]),
      ])
      return started
    }

    it('its certificate is trusted, and stays so when the file is applied again', async () => {
      const before = await caBundle()
      expect(Buffer.from(before, 'base64').toString()).toContain('BEGIN CERTIFICATE')
      const { text } = await server.run('kubectl', ['apply', '--dry-run=server', '-f', INSTALL])
      expect(text).toContain('secret/squall-self-managed-tls unchanged')
      expect(await caBundle()).toBe(before)
    })

    it.each([
      ['shop', 'redirect', 'squall-redirect squall'],
      ['tight', 'port', 'squall'],
    ])('a pod in %s gets the sidecar by mode %s', async (namespace, mode, containers) => {
      const made = await create(namespace, 'injected', ASKS)
      expect(made.ok, made.text).toBe(true)
      const read = (path: string): Promise<string> =>
        kubectl(['get', 'pod', 'injected', '-n', namespace, '-o', `jsonpath={${path}}`])
      expect(JSON.parse(await read('.metadata.annotations.squall\\.dev/status'))).toMatchObject({
        mode,
      })
      const [first, all] = [
        await read('.spec.containers[*].name'),
        await read('.spec.initContainers[*].name'),
      ]
      expect(`${all} ${first}`).toContain(containers.split(' ')[0])
      expect(`${all} ${first}`.split(' ').filter((name) => name.startsWith('squall'))).toEqual(
        containers.split(' '),
      )
    })

    it('pods of the webhook itself pass Pod Security, which its namespace enforces', async () => {
      const deployment = manifestsOf(readFileSync(INSTALL, 'utf8')).find(
        ({ kind }) => kind === 'Deployment',
      )!
      const { template } = deployment['spec'] as { template: { metadata: object; spec: object } }
      const own = {
        apiVersion: 'v1',
        kind: 'Pod',
        ...template,
        metadata: { ...template.metadata, name: 'webhook' },
      }
      await kubectl(['create', '-n', NAMESPACE, '-f', '-'], JSON.stringify(own))
      const lax = {
        ...own,
        metadata: { name: 'lax' },
        spec: { containers: [{ name: 'a', image: 'a' }] },
      }
      // The label has come with the file, and is taken into use a moment later.
      await eventually(async () => {
        const args = ['create', '--dry-run=server', '-n', NAMESPACE, '-f', '-']
        const { text } = await server.run('kubectl', args, JSON.stringify(lax))
        return text.includes('violates PodSecurity "restricted') ? undefined : text
      }, PATIENCE)
    })

    it('production is refused by the webhook, with what its owner can do', async () => {
      const { ok, text } = await create('live', 'asks', ASKS)
      expect(ok).toBe(false)
      expect(text).toContain('squall.dev/allow-production: "true"')
    })

    it('an invalid request is denied with what to write', async () => {
      const wrong = { annotations: { 'squall.dev/inject': 'yes' } }
      const { ok, text } = await create('shop', 'wrong', wrong)
      expect(ok).toBe(false)
      expect(text).toContain('use one of true, false')
    })

    it('nothing is left when the file is deleted', async () => {
      await kubectl(['delete', '--wait=false', '-f', INSTALL])
      expect(
        (await left()).split('\n').filter((name) => !name.startsWith('namespace/') && name !== ''),
      ).toEqual([])
    })
  })
})
