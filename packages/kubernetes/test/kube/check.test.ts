// part: slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCa } from '../../src/webhook/issue-certificate.ts'
import { type Shop, startCluster } from '../../../../test/support/cluster.ts'
import { startProgram } from '../../../../test/support/commands.ts'

const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
const SYSTEM = '/api/v1/namespaces/squall-system'
const DAY = 86_400_000

let shop: Shop

beforeEach(async () => {
  shop = await startCluster('shop')
  shop.api.store.set('/version', { gitVersion: 'v1.34.2' })
  await shop.addPod('shop-1')
})

afterEach(() => shop.close())

function install(caEnds: number, ready = 'True'): void {
  const validity = { from: new Date(Date.now() - 30 * DAY), until: new Date(Date.now() + caEnds) }
  const caBundle = Buffer.from(createCa('squall', validity).cert).toString('base64')
  const service = { namespace: 'squall-system', name: 'squall' }
  const webhooks = [{ name: 'inject.squall.dev', clientConfig: { service, caBundle } }]
  shop.api.put(`${WEBHOOKS}/squall`, { webhooks })
  shop.api.put(`${SYSTEM}/services/squall`, { spec: { selector: { app: 'squall' } } })
  const metadata = { labels: { app: 'squall' } }
  const status = { conditions: [{ type: 'Ready', status: ready }] }
  shop.api.put(`${SYSTEM}/pods/squall-1`, { metadata, status })
}

interface Right {
  readonly verb: string
  readonly resource: string
  readonly name?: string
}

interface Outcome {
  readonly ok: boolean
  readonly checks: readonly { check: string; result: string; found: string; fix?: string }[]
}

/**
 * The results by name: what was found where a check failed or was left out, else that it passed.
 */
async function check(): Promise<Readonly<Record<string, string>>> {
  const args = ['check', '-n', 'shop', '--kubeconfig', shop.kubeconfig, '--json']
  const { code, stdout, stderr } = await startProgram(args, {}, { here: true })
  expect(stderr).toBe('')
  const { ok, checks } = JSON.parse(stdout) as Outcome
  expect(code).toBe(ok ? 0 : 1)
  return Object.fromEntries(
    checks.map(({ check: name, result, found }) => [
      name,
      result === 'passed' ? result : `${result}: ${found}`,
    ]),
  )
}

const GOOD = {
  'the namespace is not production': 'passed',
  'the API server responds': 'passed',
  'permissions are granted': 'passed',
  'the webhook is installed': 'passed',
  'the API server trusts the webhook certificate': 'passed',
  'the webhook has ready pods': 'passed',
  'sidecars run': 'passed',
  'sidecars run the rules in their ConfigMap': 'passed',
  'sidecar clocks match the API server clock': 'passed',
  'rules may act': 'passed',
  'sidecars have no warnings': 'passed',
}

test('every check passes where the chart is installed and the sidecars respond', async () => {
  install(30 * DAY)
  expect(await check()).toEqual(GOOD)
})

test('a cluster without the webhook fails, and the sidecars are checked nevertheless', async () => {
  const results = await check()
  expect(results['the webhook is installed']).toBe('failed: no webhook inject.squall.dev')
  expect(results['sidecars run']).toBe('passed')
})

test('a certificate that has ended and pods that are not ready are named', async () => {
  install(-DAY, 'False')
  expect(await check()).toEqual({
    ...GOOD,
    'the API server trusts the webhook certificate': expect.stringMatching(
      /^failed: the CA certificate expired at 20/,
    ) as unknown,
    'the webhook has ready pods':
      'failed: 0 of 1 behind the Service squall-system/squall are ready; new pods get no sidecar',
  })
})

test('rights that the user lacks are named, and what cannot be read is left out', async () => {
  install(30 * DAY)
  for (const right of ['patch configmaps', 'get pods/proxy']) shop.api.denied.add(right)
  shop.api.denied.add('list mutatingwebhookconfigurations')
  const results = await check()
  // A forwarded port serves as well as the proxy.
  expect(results['permissions are granted']).toBe('failed: no permission to patch configmaps')
  expect(results['the webhook is installed']).toMatch(/^skipped: .*cannot list resource/)
})

test('sidecars that cannot be asked or are disarmed fail, and a namespace may have none yet', async () => {
  install(30 * DAY)
  shop.addPaper('shop-2')
  await shop.stop('-n', 'shop', '--timeout', '1s')
  const stopped = async () => (await check())['rules may act']
  await expect.poll(stopped).toMatch(/^failed: shop-1: disarmed by stopped/)
  const results = await check()
  expect(results['sidecars run']).toBe('failed: shop-2: its sidecar is not running yet')
  shop.api.put('/api/v1/namespaces/empty', { metadata: { name: 'empty' } })
  const args = ['check', '-n', 'empty', '--kubeconfig', shop.kubeconfig]
  const { stdout } = await startProgram(args, {}, { here: true })
  expect(stdout).toContain(`namespace
---------
√ the namespace is not production: empty
‼ sidecars run: no pod of empty has a sidecar
    annotate a pod template with squall.dev/inject: "true": docs/get-started/kubernetes.md

No check failed.
`)
})

test('a Role for one ConfigMap is enough, and the suggested one is such a Role', async () => {
  install(30 * DAY)
  expect(await check()).toEqual(GOOD)
  const asked = shop.api.seen.flatMap(({ body }) => {
    const { resourceAttributes: of } = (body['spec'] ?? {}) as { resourceAttributes?: Right }
    return of === undefined ? [] : [`${of.verb} ${of.resource} ${of.name ?? ''}`.trim()]
  })
  expect(asked).toEqual(
    expect.arrayContaining([
      'list pods',
      'get configmaps squall-rules',
      'patch configmaps squall-rules',
    ]),
  )
  shop.api.denied.add('patch configmaps')
  const args = ['check', '-n', 'shop', '--kubeconfig', shop.kubeconfig]
  const { stdout } = await startProgram(args, {}, { here: true })
  expect(stdout).toContain('resources: [configmaps], resourceNames: [squall-rules], verbs: [patch]')
})

test('production is named, and no next step leads into it', async () => {
  install(30 * DAY)
  shop.api.put('/api/v1/namespaces/prod-eu', { metadata: { name: 'prod-eu' } })
  const args = ['check', '-n', 'prod-eu', '--kubeconfig', shop.kubeconfig]
  const { code, stdout } = await startProgram(args, {}, { here: true })
  const next =
    'no pod gets a sidecar and no rule acts here, unless the owner annotates the namespace squall.dev/allow-production: "true"'
  expect(stdout).toMatch(/‼ the namespace is not production: the namespace "prod-eu" .*production/)
  expect(stdout.split(next)).toHaveLength(3)
  expect(code).toBe(0)
})

test('a Job that has finished does not fail the check', async () => {
  install(30 * DAY)
  shop.addPaper('job-1', { sidecar: { terminated: {} } })
  const path = '/api/v1/namespaces/shop/pods/job-1'
  shop.api.put(path, { ...shop.api.store.get(path), status: { phase: 'Succeeded' } })
  expect(await check()).toEqual(GOOD)
})

test('the next step for disarmed sidecars is that of their reason', async () => {
  install(30 * DAY)
  const squall = await shop.addPod('shop-2')
  squall.running.rules!.arming.disarm('guard', 'too many errors')
  const args = ['check', '-n', 'shop', '--kubeconfig', shop.kubeconfig]
  const { stdout } = await startProgram(args, {}, { here: true })
  expect(stdout).toMatch(
    /shop-2: disarmed by guard \(too many errors\)\n {4}.*arm the sidecar again with .*squall resume -t ADDRESS/,
  )
  // Nothing was stopped in the namespace.
  expect(stdout).not.toContain('resume -n')
})

test('an API server that does not respond is the only result', async () => {
  shop.api.before = () => 503
  const results = await check()
  expect(Object.keys(results)).toEqual(['the API server responds'])
  expect(results['the API server responds']).toMatch(/^failed: cannot read the version/)
})

test('checks of sidecars do not pass where no sidecar responded', async () => {
  install(30 * DAY)
  shop.addPaper('shop-1')
  const results = await check()
  expect(results['sidecars run']).toBe('failed: shop-1: its sidecar is not running yet')
  for (const name of Object.keys(GOOD).slice(-4)) {
    expect(results[name]).toBe('skipped: no sidecar responded')
  }
})
