// part: cluster
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCa, issueServer } from '../../packages/kubernetes/src/webhook/issue-certificate.ts'
import { type Installed, missingForCluster, POLL } from './cluster/installed.ts'
import { AGENT_PORT, meshManifests } from './cluster/mesh-stand-in.ts'
import { ASKS } from './cluster/questions.ts'
import type { RunningPod } from './cluster/running-pod.ts'
import type { Stage } from './cluster/stage.ts'
import { APP_IMAGE } from './pod-images.ts'
import { startCluster } from '../support/cluster.ts'

// Pods that the sidecar would cut off, or that pass it by, in a real cluster: right, or denied, and
// never silent.
const READY = '--for=condition=Ready'
const PATIENT = '--timeout=90s'
const TLS_APP = `require('node:https').createServer({ cert: require('node:fs').readFileSync('/tls/tls.crt'), key: require('node:fs').readFileSync('/tls/tls.key') }, (req, res) => res.end('secret')).listen(3000, '::')`

interface AppPod {
  readonly name: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly app?: object
  readonly spec?: object
}

function podText({ name, annotations = {}, app = {}, spec = {} }: AppPod): string {
  const container = {
    name: 'app',
    image: APP_IMAGE,
    imagePullPolicy: 'Never',
    env: [{ name: 'HOST', value: '::' }],
    ports: [{ name: 'mcp', containerPort: 3000 }],
    ...app,
  }
  const metadata = { name, labels: { app: name }, annotations: { ...ASKS, ...annotations } }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { terminationGracePeriodSeconds: 1, containers: [container], ...spec },
  })
}

function squall(keys: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [`squall.dev/${key}`, value]),
  )
}

let installed: Installed
let stage: Stage

describe.skipIf(missingForCluster() !== undefined)('in a real cluster', () => {
  beforeAll(async () => {
    installed = await startCluster('installed')
    stage = installed.stage
    for (const name of ['mesh', 'before', 'after']) await stage.kubectl('create', 'ns', name)
    await installed.cluster.kubectl(['apply', '-f', '-'], meshManifests('before', 'after'))
  }, 480_000)

  afterAll(() => installed?.cluster.close(), 60_000)

  async function made(namespace: string, pod: AppPod): Promise<void> {
    expect(await stage.refusal(namespace, podText(pod))).toBe('')
  }

  async function ready(namespace: string, name: string): Promise<RunningPod> {
    await stage.kubectl('-n', namespace, 'wait', READY, PATIENT, `pod/${name}`)
    return JSON.parse(await stage.kubectl('get', 'pod', name, '-n', namespace, '-o', 'json'))
  }

  /** Asks without a look at the certificate, which only the sidecar checks here. */
  async function askTls(host: string, path: string): Promise<string> {
    const script = `require('node:https').get({ host: '${host}', port: 3000, path: '${path}', rejectUnauthorized: false }, (res) => { let text = ''; res.on('data', (part) => (text += part)); res.on('end', () => console.log(res.statusCode, res.headers['x-squall-fault'] ?? '-', text)) }).on('error', (e) => console.log(e.code))`
    const { out } = await installed.cluster.user(process.execPath, ['-e', script])
    return out.trim()
  }

  test('an upstream that serves TLS is denied, or met by TLS on both sides', async () => {
    const day = 86_400_000
    const during = { from: new Date(Date.now() - day), until: new Date(Date.now() + day) }
    const ca = createCa('app', during)
    const serving = issueServer(ca, ['secure.shop.svc'], during)
    const items = [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'secure-tls' },
        stringData: { 'tls.crt': serving.cert, 'tls.key': serving.key },
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'secure-ca' },
        data: { 'ca.crt': ca.cert },
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'secure-rules' },
        data: {
          'rules.yaml':
            'rules:\n  - name: cut\n    match: { http: { path: /cut } }\n    faults: [abort: { status: 503 }]\n',
        },
      },
    ]
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await installed.cluster.kubectl(['apply', '-n', 'shop', '-f', '-'], list)
    const secure: AppPod = {
      name: 'secure',
      annotations: squall({ rules: 'secure-rules' }),
      app: {
        command: ['node', '-e', TLS_APP],
        volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
        readinessProbe: {
          httpGet: { path: '/', port: 'mcp', scheme: 'HTTPS' },
          periodSeconds: 1,
          timeoutSeconds: 5,
        },
      },
      spec: { volumes: [{ name: 'tls', secret: { secretName: 'secure-tls' } }] },
    }
    const refusal = await stage.refusal('shop', podText(secure))
    expect(refusal).toContain(
      'your MCP server serves TLS: app/readyz uses port 3000 with scheme HTTPS',
    )
    expect(refusal).toContain('squall.dev/upstream-tls: verify')
    const says = squall({
      rules: 'secure-rules',
      'upstream-tls': 'verify',
      'upstream-ca': 'configmap/secure-ca/ca.crt',
      'upstream-servername': 'secure.shop.svc',
      'tls-secret': 'secure-tls',
    })
    await made('shop', { ...secure, annotations: says })
    const { status } = await ready('shop', 'secure')
    await expect.poll(() => askTls(status.podIP!, '/'), POLL).toBe('200 - secret')
    expect(await askTls(status.podIP!, '/cut')).toMatch(/^503 cut/)
  }, 120_000)

  test('a pod in mode port behind a headless Service is warned of, for all to see', async () => {
    await made('shop', { name: 'past', annotations: squall({ mode: 'port' }) })
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'past' },
      spec: {
        clusterIP: 'None',
        selector: { app: 'past' },
        ports: [{ port: 3000, targetPort: 'mcp' }],
      },
    }
    expect(await stage.refusal('shop', JSON.stringify(service))).toBe('')
    const { metadata } = await ready('shop', 'past')
    expect(metadata.annotations?.['squall.dev/status']).toContain('cannot be checked')
    const { text } = await stage.squall('status', '-n', 'shop', '-l', 'app=past')
    expect(text).toContain('shop/past: warning: the Service "past" is headless')
  }, 120_000)

  test.each(['before', 'after'])(
    'a mesh whose webhook comes %s Squall keeps its probes, and the pod is ready',
    async (namespace) => {
      await stage.kubectl('-n', 'mesh', 'wait', READY, PATIENT, 'pod/mesh')
      const readinessProbe = {
        httpGet: { path: '/executed', port: 'mcp' },
        periodSeconds: 1,
        timeoutSeconds: 5,
      }
      const pod: AppPod = { name: 'meshed', app: { readinessProbe } }
      // API servers take webhooks into use a little later.
      const proxied = async (): Promise<string> => {
        await stage.kubectl('-n', namespace, 'delete', 'pod', 'meshed', '--ignore-not-found')
        await made(namespace, pod)
        return stage.kubectl('-n', namespace, 'get', 'pod', 'meshed', '-o', 'json')
      }
      await expect.poll(proxied, POLL).toContain('"istio-proxy"')
      const { spec, metadata } = await ready(namespace, 'meshed')
      const app = spec?.containers?.find(({ name }) => name === 'app')
      expect(app?.readinessProbe?.httpGet).toMatchObject({
        path: '/app-health/app/readyz',
        port: AGENT_PORT,
      })
      const { mode } = JSON.parse(metadata.annotations!['squall.dev/status']!) as { mode: string }
      expect(mode).toBe('port')
      const redirected = { ...pod, name: 'redirected', annotations: squall({ mode: 'redirect' }) }
      expect(await stage.refusal(namespace, podText(redirected))).toContain(
        "redirect cannot be used: the pod has Istio's container istio-proxy",
      )
    },
    120_000,
  )

  test('a Guaranteed pod stays Guaranteed, and resources of a pod are shared', async () => {
    const amounts = { cpu: '100m', memory: '256Mi' }
    const resources = { requests: amounts, limits: amounts }
    await made('shop', { name: 'pinned', app: { resources } })
    const own = { resources: { requests: amounts, limits: amounts } }
    await made('shop', { name: 'pooled', app: { resources }, spec: own })
    const qos = ['get', 'pod', 'pinned', 'pooled', '-n', 'shop', '-o']
    expect(await stage.kubectl(...qos, 'jsonpath={.items[*].status.qosClass}')).toBe(
      'Guaranteed Guaranteed',
    )
  }, 120_000)

  test('an upstream that listens on loopback alone is named, with what lets it in', async () => {
    const env = [{ name: 'HOST', value: '127.0.0.1' }]
    await made('shop', { name: 'shy', app: { env } })
    const { status } = await ready('shop', 'shy')
    const client = stage.client()
    const named = async (): Promise<string> => {
      await client.get(`http://${status.podIP}:3000/executed`)
      return stage.kubectl('-n', 'shop', 'logs', 'shy', '-c', 'squall')
    }
    await expect.poll(named, POLL).toContain('squall.dev/upstream-host: 127.0.0.1')
    await made('shop', {
      name: 'let-in',
      app: { env },
      annotations: squall({ 'upstream-host': '127.0.0.1' }),
    })
    const { status: inside } = await ready('shop', 'let-in')
    const got = async (): Promise<number> =>
      (await client.get(`http://${inside.podIP}:3000/executed`)).status
    await expect.poll(got, POLL).toBe(200)
  }, 120_000)
})
