// part: cluster
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCa, issueServer } from '../../packages/kubernetes/src/webhook/issue-certificate.ts'
import { failing } from '../live/rules-directory.ts'
import { certManagerKinds, certManagerSecret, hour } from './cluster/cert-manager.ts'
import { createWithoutPause } from './cluster/creations.ts'
import {
  type Installed,
  missingForCluster,
  note,
  POLL,
  RELEASE,
  ROLLOUT,
  since,
  WEBHOOKS,
  webhookReady,
} from './cluster/installed.ts'
import { ASKS } from './cluster/questions.ts'
import type { Stage } from './cluster/stage.ts'
import { loosePod } from './cluster/workloads.ts'
import { NAMESPACE } from './helm.ts'
import { startCluster } from '../support/cluster.ts'

// The webhook in a real cluster: what it denies when it is written, and that its own certificates,
// replicas and upgrades refuse nothing. The tests are one story.
const SET =
  'webhook.readNamespaces=false,validation.rules.enabled=true,validation.workloads.enabled=true'
// API servers that are three get ten seconds to notice a new CA; this one is alone.
const SETTLE = 'webhook.env[0].name=SQUALL_CA_SETTLE,webhook.env[0].value=3s'
const VALUES = ['--set', SET, '--set', 'certificates.mode=generated', '--set', SETTLE]
const LABELLED = { 'squall.dev/rules': 'true' }

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('the webhook', () => {
  beforeAll(async () => {
    installed = await startCluster('installed', VALUES)
    stage = installed.stage
    await stage.kubectl('create', 'ns', 'shop-prod')
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  const apply = (namespace: string, manifest: object): Promise<string> =>
    installed.cluster
      .kubectl(['apply', '-n', namespace, '-f', '-'], JSON.stringify(manifest))
      .then(() => '', String)

  const logs = (): Promise<string> =>
    stage.kubectl('-n', NAMESPACE, 'logs', '-l', WEBHOOKS, '--tail=-1')

  async function upgrade(...more: readonly string[]): Promise<void> {
    const { ok, text } = await stage.helm('upgrade', ...RELEASE, ...VALUES, ...more)
    expect(ok, text).toBe(true)
  }

  /** Waits until the replicas of before are gone. */
  async function replaced(): Promise<void> {
    await webhookReady(stage)
    const all = ['get', 'pods', '-n', NAMESPACE, '-l', WEBHOOKS, '-o', 'name']
    const count = async (): Promise<number> =>
      (await stage.kubectl(...all)).trim().split('\n').length
    await expect.poll(count, POLL).toBe(2)
  }

  test('asks the version of the cluster, without any credentials', async () => {
    const token = '{.items[*].spec.automountServiceAccountToken}'
    const pods = ['get', 'pods', '-n', NAMESPACE, '-l', WEBHOOKS]
    expect(await stage.kubectl(...pods, '-o', `jsonpath=${token}`)).toBe('false false')
    const real = JSON.parse(await stage.kubectl('get', '--raw', '/version')) as { minor: string }
    // A replica that got no response in time asks again.
    const versions = async (): Promise<readonly unknown[]> =>
      (await logs())
        .split('\n')
        .filter((line) => line.includes('version of Kubernetes'))
        .map((line) => JSON.parse(line) as { version: string; source: string })
        .filter(({ source }) => source === 'api_server')
        .map(({ version }) => version)
    await expect.poll(versions, POLL).toEqual([`1.${real.minor}`, `1.${real.minor}`])
  })

  test('denies ConfigMaps with invalid rules, with line and column', async () => {
    const bad = `rules:\n  - name: slow\n    faults: [{ dely: { fixed: 1s } }]\n`
    const denied = await apply('shop', configMap('rules', { 'rules.yaml': bad }))
    expect(denied).toMatch(
      /"rules\.squall\.dev" denied the request: rules\.yaml:3:\d+: .*dely.*delay/,
    )
    const good = failing('one', 'get_weather')
    const twice = await apply('shop', configMap('rules', { 'a.yaml': good, 'b.yaml': good }))
    expect(twice).toMatch(/b\.yaml:\d+:\d+: .*one/)
    expect(await apply('shop', configMap('rules', { 'rules.yaml': good }))).toBe('')
    expect(await apply('shop', configMap('rules', { 'rules.yaml': bad }))).toContain(':3:')
    // Without the label nothing is sent.
    expect(await apply('shop', configMap('other', { 'rules.yaml': bad }, {}))).toBe('')
    const production = await apply('shop-prod', configMap('rules', { 'rules.yaml': good }))
    expect(production).toMatch(/denied in production: the namespace "shop-prod"/)
    const off = `enabled: false\n${good}`
    expect(await apply('shop-prod', configMap('rules', { 'rules.yaml': off }))).toBe('')
  })

  /** Applies rules and returns what the cluster keeps of them. */
  async function kept(name: string, text: string): Promise<string> {
    expect(await apply('shop', configMap(name, { 'rules.yaml': text }))).toBe('')
    return stage.kubectl(
      '-n',
      'shop',
      'get',
      'cm',
      name,
      '-o',
      String.raw`jsonpath={.data.rules\.yaml}`,
    )
  }

  test('writes into labelled ConfigMaps when their rules were applied', async () => {
    const rules = failing('one', 'get_weather')
    const first = await kept('anchored', rules)
    expect(first).toMatch(/^appliedAt: \d{4}-\S+Z\nrules:/)
    // The clock shows another second: rules that changed would get another time.
    await expect
      .poll(() => new Date().toISOString() > first.slice(11, 30) + '.999Z', POLL)
      .toBe(true)
    expect(await kept('anchored', rules)).toBe(first)
    const changed = await kept('anchored', failing('one', 'get_time'))
    expect(changed).toContain('get_time')
    expect(changed.slice(11, 31) > first.slice(11, 31)).toBe(true)
  })

  test('squall apply sets the label that asks for the check', async () => {
    const rules = failing('labelled', 'get_weather')
    const to = ['-n', 'shop', '--configmap', 'applied', '--no-wait', '-f', '-']
    const { ok, text } = await stage.squallWith(
      rules,
      'apply',
      ...to,
      '--kubeconfig',
      installed.cluster.kubeconfig,
    )
    expect(ok, text).toBe(true)
    const labels = ['get', 'cm', 'applied', '-n', 'shop', '-o', 'jsonpath={.metadata.labels}']
    expect(JSON.parse(await stage.kubectl(...labels))).toMatchObject(LABELLED)
  })

  test('squall apply waits for the rules as the webhook left them, in all keys', async () => {
    // Another hand wrote this key, without the label that asks for the webhook.
    const data = { 'other.yaml': failing('other', 'get_time') }
    expect(await apply('shop', configMap('squall-rules', data, {}))).toBe('')
    expect(await stage.refusal('shop', loosePod('reader', ASKS))).toBe('')
    await stage.kubectl('-n', 'shop', 'wait', '--for=condition=Ready', 'pod/reader', ROLLOUT)
    const to = ['-n', 'shop', '-f', '-', '--timeout', '30s'] as const
    const { ok, text } = await stage.squallWith(failing('one', 'get_weather'), 'apply', ...to)
    expect(ok, text).toBe(true)
    expect(text).toContain('rules loaded in 1 of 1 pods')
    const other = ['get', 'cm', 'squall-rules', '-o', String.raw`jsonpath={.data.other\.yaml}`]
    expect(await stage.kubectl('-n', 'shop', ...other)).toMatch(/^appliedAt: /)
  })

  test('denies workloads whose pods would be denied, when they are applied', async () => {
    const typo = { ...ASKS, 'squall.dev/prots': '3000' }
    expect(await apply('shop', deployment('typo', typo))).toMatch(
      /"workloads\.squall\.dev" denied the request: the pods of Deployment "typo" would be denied: .*squall\.dev\/prots.*did you mean squall\.dev\/ports/,
    )
    expect(await apply('shop', deployment('typo', { 'squall.dev/injct': 'true' }))).toContain(
      'inject',
    )
    const bad = { ...ASKS, 'squall.dev/mode': 'sideways' }
    expect(await apply('shop', cronJob('nightly', bad))).toMatch(/CronJob "nightly".*sideways/)
    expect(await apply('shop-prod', deployment('typo', ASKS))).toMatch(/production/)
    // Nothing of Squall on it: it is never sent.
    expect(await apply('shop', deployment('plain', {}))).toBe('')
    expect(await apply('shop', deployment('burst', ASKS))).toBe('')
    await expect.poll(logs, POLL).toContain('"name":"burst"')
    expect(await logs()).not.toContain('"name":"plain"')
    // Workloads from before can be scaled: a controller made their pods.
    await stage.kubectl('-n', 'shop', 'scale', 'deploy/burst', '--replicas=20')
    const made = (): Promise<number> => stage.pods('shop', 'app=burst').then((all) => all.length)
    await expect.poll(made, POLL).toBe(20)
  })

  test('refuses no pod while certificates are renewed, their mode changes and replicas restart', async () => {
    const creations = createWithoutPause(installed.cluster, 'shop')
    const begun = performance.now()
    let scaled = 0
    const scale = async (replicas: number): Promise<void> => {
      await stage.kubectl('-n', 'shop', 'scale', 'deploy/burst', `--replicas=${replicas}`)
      scaled += Math.max(0, replicas)
    }
    // The first mount of the new certificate would take kubelet a minute: a change of the pods
    // makes it look.
    await upgrade('--set', 'certificates.generated.renewal=again')
    await stage.kubectl('-n', NAMESPACE, 'annotate', 'pods', '-l', WEBHOOKS, 'looked=now')
    const swaps = async (): Promise<number> =>
      (await logs()).split('certificate replaced').length - 1
    await expect.poll(swaps, POLL).toBe(2)
    note(`renewed after ${since(begun)}`)
    await scale(0)
    await upgrade('--set', 'certificates.mode=selfManaged')
    await replaced()
    note(`self-managed after ${since(begun)}`)
    expect(await kept('self-managed', failing('one', 'get_weather'))).toMatch(/^appliedAt: /)
    await scale(40)
    // There is no cert-manager here: the test writes the Secret as it would.
    const { cluster } = installed
    await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(certManagerKinds()))
    await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(certManagerSecret()))
    await upgrade('--set', 'certificates.mode=certManager')
    await replaced()
    note(`certificates of cert-manager after ${since(begun)}`)
    await scale(0)
    await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(certManagerSecret()))
    await stage.kubectl('-n', NAMESPACE, 'annotate', 'pods', '-l', WEBHOOKS, 'looked=now')
    await expect.poll(swaps, POLL).toBe(2)
    note(`cert-manager's renewed after ${since(begun)}`)
    await scale(40)
    for (const mode of ['generated', 'certManager', 'selfManaged']) {
      await upgrade('--set', `certificates.mode=${mode}`)
      await replaced()
      note(`${mode} again after ${since(begun)}`)
    }
    const directory = installed.cluster.namespaces.directory
    const ca = createCa('elsewhere', hour())
    const host = `squall.${NAMESPACE}.svc`
    const pair = issueServer(ca, [host], hour())
    await Promise.all([
      writeFile(join(directory, 'hook-ca.crt'), ca.cert),
      writeFile(join(directory, 'hook.crt'), pair.cert),
      writeFile(join(directory, 'hook.key'), pair.key),
    ])
    const files = [`--cert=${join(directory, 'hook.crt')}`, `--key=${join(directory, 'hook.key')}`]
    await stage.kubectl('-n', NAMESPACE, 'create', 'secret', 'tls', 'hook-external', ...files)
    await upgrade(
      '--set',
      'certificates.mode=external,certificates.external.secretName=hook-external',
      '--set-file',
      `certificates.external.caBundle=${join(directory, 'hook-ca.crt')}`,
    )
    await replaced()
    note(`external after ${since(begun)}`)
    await scale(0)
    await stage.kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deploy/squall')
    await scale(60)
    await replaced()
    const made = (): Promise<number> => stage.pods('shop', 'app=burst').then((all) => all.length)
    await expect.poll(made, POLL).toBe(60)
    const { asked, refusals } = await creations.end()
    note(`${asked} dry runs and ${scaled} pods by a controller in ${since(begun)}`)
    expect([...new Set(refusals)]).toEqual([])
    const events = [
      'get',
      'events',
      '-n',
      'shop',
      '--field-selector=reason=FailedCreate',
      '-o',
      'name',
    ]
    expect(await stage.kubectl(...events)).toBe('')
    expect(asked + scaled).toBeGreaterThan(400)
  }, 600_000)
})

function configMap(name: string, data: object, labels: object = LABELLED): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data }
}

function deployment(name: string, annotations: object): object {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: podSpec() },
    },
  }
}

function cronJob(name: string, annotations: object): object {
  const spec = { ...podSpec(), restartPolicy: 'Never' }
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name },
    spec: {
      schedule: '0 3 * * *',
      jobTemplate: { spec: { template: { metadata: { annotations }, spec } } },
    },
  }
}

/** Pods that are made, and fit no node: admission is all that matters. */
function podSpec(): object {
  const ports = [{ name: 'mcp', containerPort: 3000 }]
  return { nodeSelector: { never: 'here' }, containers: [{ name: 'app', image: 'app:1', ports }] }
}
