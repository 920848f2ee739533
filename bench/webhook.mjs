// Measures the time and memory of a review by the webhook.
// Needs a build: node bench/webhook.mjs [seconds] [project]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const SECONDS = Number(process.argv[2] ?? 60)
const PROJECT = resolve(process.argv[3] ?? join(import.meta.dirname, '..'))
/** Reviews a second, over as many connections as a few API servers keep. */
const RATE = 50
const CONNECTIONS = 6
const WARM_UP = 5

const { createCa, issueServer } = await import(
  pathToFileURL(join(PROJECT, 'build/js/packages/kubernetes/src/webhook/issue-certificate.js')).href
)
const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 86_400_000) }
const ca = createCa('bench', validity)
const pair = issueServer(ca, ['localhost'], validity)
const directory = mkdtempSync(join(tmpdir(), 'squall-webhook-'))
writeFileSync(join(directory, 'tls.crt'), pair.cert)
writeFileSync(join(directory, 'tls.key'), pair.key)
writeFileSync(
  join(directory, 'settings.yaml'),
  'image: registry.test/squall:1\nrules: squall-rules\n',
)

const child = spawn(
  process.execPath,
  [
    join(PROJECT, 'dist/cli/main.js'),
    'webhook',
    '--tls-dir',
    directory,
    `--settings=${join(directory, 'settings.yaml')}`,
    '--listen=127.0.0.1:0',
    '--admin=127.0.0.1:0',
    '--kubernetes-version=1.33',
    '--shutdown-delay=0s',
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
process.once('exit', () => {
  child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})
const { port, admin } = await started()
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca: ca.cert })
const body = JSON.stringify(review())
const idle = rss()

await run(WARM_UP)
await fetch(`http://${admin}/metrics`)
const measured = await run(SECONDS)
const { failed } = measured
const scraped = await (await fetch(`http://${admin}/metrics`)).text()
const after = rss()
agent.destroy()
child.kill('SIGTERM')
await once(child, 'close')

const sorted = measured.times.sort((one, other) => one - other)
const at = (share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1)
console.log(`Node ${process.version}, ${RATE} reviews/s of ${body.length} bytes for ${SECONDS} s`)
console.log(`reviews ${sorted.length}, failed ${failed}`)
console.log(`latency ms: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}`)
console.log(`resident MiB: at rest ${idle}, after ${after}, peak ${rss('VmHWM')}`)
const within = /duration_seconds_bucket\{le="0.0?1"\} (\d+)/.exec(scraped)?.[1]
const all = /duration_seconds_count (\d+)/.exec(scraped)?.[1]
console.log(`by its own clock: ${within} of ${all} within 10 ms`)
process.exit(failed === 0 ? 0 : 1)

/** Sends at a fixed rate, whether responses come or not, as API servers do. */
async function run(seconds) {
  const result = { times: [], failed: 0 }
  const under = []
  const begin = performance.now()
  for (let i = 0; i < seconds * RATE; i++) {
    const due = begin + (i * 1000) / RATE
    const wait = due - performance.now()
    if (wait > 0) await sleep(wait)
    under.push(
      ask().then(
        (ms) => result.times.push(ms),
        () => result.failed++,
      ),
    )
  }
  await Promise.all(under)
  return result
}

function ask() {
  const from = performance.now()
  return new Promise((done, fail) => {
    const asked = request(
      {
        agent,
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        path: '/mutate?timeout=5s',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        const parts = []
        response.on('data', (part) => parts.push(part))
        response.on('end', () => {
          const text = Buffer.concat(parts).toString()
          if (text.includes('"patch"')) done(performance.now() - from)
          else fail(new Error(text))
        })
      },
    )
    asked.on('error', fail)
    asked.end(body)
  })
}

async function started() {
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line)
    if (entry.msg !== 'serving admission requests') continue
    child.stdout.resume()
    return { port: Number(entry.address.split(':').at(-1)), admin: entry.admin }
  }
  throw new Error('the webhook did not start')
}

function rss(field = 'VmRSS') {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    rss[field] = Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)[1]) / 1024)
  } catch {
    // It has ended; the last number stands.
  }
  if (field === 'VmRSS') rss('VmHWM')
  return rss[field]
}

/** A pod as big as they are: three containers with probes and variables, volumes, owners. */
function review() {
  const container = (name, listens) => ({
    name,
    image: `registry.test/${name}:1`,
    ...(listens && { ports: [{ name: 'mcp', containerPort: listens, protocol: 'TCP' }] }),
    env: Array.from({ length: 40 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value ${i}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    ...(listens && {
      readinessProbe: { httpGet: { path: '/healthz', port: listens }, periodSeconds: 5 },
      livenessProbe: { tcpSocket: { port: listens }, periodSeconds: 10 },
    }),
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'shop-7d4b9c6f5-',
      labels: { app: 'shop', 'pod-template-hash': '7d4b9c6f5' },
      annotations: { 'squall.dev/inject': 'true', note: 'x'.repeat(500) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'shop-7d4b9c6f5',
          uid: 'u',
          controller: true,
        },
      ],
    },
    spec: {
      containers: [container('app', 3000), container('log'), container('agent')],
      initContainers: [container('migrate')],
      volumes: [{ name: 'data', emptyDir: {} }],
      serviceAccountName: 'default',
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
      ],
    },
  }
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      operation: 'CREATE',
      namespace: 'shop',
      userInfo: { username: 'system:serviceaccount:kube-system:replicaset-controller' },
      object,
      oldObject: null,
      dryRun: false,
    },
  }
}
