import { readFile } from 'node:fs/promises'
import { parse, parseAllDocuments, stringify } from 'yaml'
import type { Pod, Probe } from '../../../packages/kubernetes/src/injector/pod.ts'
import type { RunningPod } from './running-pod.ts'
import type { OutsideClient } from './stage.ts'
import { APP_IMAGE, SIDECAR_IMAGE, SQUALL_IMAGE } from '../pod-images.ts'

const EXAMPLE = new URL('../../../deploy/examples/mcp-server.yaml', import.meta.url)
const LOAD = new URL('../../../deploy/examples/load-job.yaml', import.meta.url)

interface Document {
  readonly kind: string
  readonly metadata: { namespace: string }
  readonly spec: { readonly template: Pod }
}

/** The example of the documents, in a namespace, with a server that there is. */
export async function example(namespace: string, livenessProbe?: Probe): Promise<string> {
  const text = await readFile(EXAMPLE, 'utf8')
  // As the README of the example does.
  const applied = text.replace(/appliedAt: .*/, `appliedAt: ${new Date().toISOString()}`)
  const documents = parseAllDocuments(applied).map((document) => document.toJS() as Document)
  for (const { kind, metadata, spec } of documents) {
    metadata.namespace = namespace
    if (kind !== 'Deployment') continue
    const server = spec.template.spec!.containers![0]!
    Object.assign(server, {
      image: APP_IMAGE,
      imagePullPolicy: 'Never',
      env: [...(server.env ?? []), { name: 'HOST', value: '::' }],
      ...(livenessProbe && { livenessProbe }),
    })
  }
  return documents.map((document) => stringify(document)).join('---\n')
}

/** A pod that is made by itself. */
export function loosePod(
  name: string,
  annotations?: Readonly<Record<string, string>>,
  livenessProbe?: Probe,
): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name }, ...(annotations && { annotations }) },
    spec: appSpec(livenessProbe),
  })
}

/** A Deployment of one pod, with a label of its own name. */
export function workload(name: string, annotations: Readonly<Record<string, string>>): string {
  const labels = { app: name }
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: appSpec() },
    },
  })
}

/** Responds to every call, and starts faster than a server with an SDK. */
const SMALL_SERVER = `
const result = { content: [{ type: 'text', text: 'fine' }] }
require('node:http').createServer((request, response) => {
  let body = ''
  request.on('data', (part) => (body += part)).on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body || '{}').id ?? null, result }))
  })
}).listen(3000, '::')`

/** A Deployment of many pods with sidecars, which cost little; clients call port 15300. */
export function smallServers(name: string, replicas: number): string {
  const app = appSpec().containers[0]
  const labels = { app: name }
  const annotations = { 'squall.dev/inject': 'true', 'squall.dev/mode': 'port' }
  const container = { ...app, command: ['node', '-e', SMALL_SERVER] }
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: { containers: [container] } },
    },
  })
}

/** Calls a tool at each of these pods; each result is `ok`, or what failed. */
export function callPods(
  client: OutsideClient,
  pods: readonly RunningPod[],
  tool: string,
): Promise<readonly string[]> {
  const all = pods.map(async ({ status }) => {
    const { text } = await client.post(`http://${status.podIP}:15300/mcp`, tool)
    if (text.includes('fine')) return 'ok'
    return `error: ${/"text":"([^"]*)"/.exec(text)?.[1] ?? text}`
  })
  return Promise.all(all)
}

/** A pod with a sidecar of somebody else's making, which reads no ConfigMap. */
export function unstoppable(name: string): string {
  const args = ['run', '--listen', '[::]:15300', '--upstream', 'http://127.0.0.1:3000']
  const sidecar = { name: 'squall', image: SIDECAR_IMAGE, imagePullPolicy: 'Never', args }
  const spec = { containers: [...appSpec().containers, sidecar] }
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec })
}

/** A Job whose pod asks for the sidecar and ends after half a second. */
export function shortJob(name: string, annotations: Readonly<Record<string, string>>): string {
  const { containers } = appSpec()
  const command = ['node', '-e', 'setTimeout(() => {}, 500)']
  const spec = { restartPolicy: 'Never', containers: [{ ...containers[0], command }] }
  return JSON.stringify({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { backoffLimit: 0, template: { metadata: { annotations }, spec } },
  })
}

function appSpec(livenessProbe?: Probe): { readonly containers: readonly object[] } {
  const app = {
    name: 'app',
    image: APP_IMAGE,
    imagePullPolicy: 'Never',
    env: [{ name: 'HOST', value: '::' }],
    ports: [{ name: 'mcp', containerPort: 3000 }],
    ...(livenessProbe && { livenessProbe }),
  }
  return { containers: [app] }
}

/** The load Job of the examples, short, and with an address: nothing answers for names. */
export async function loadJob(target: string): Promise<string> {
  const job = parse(await readFile(LOAD, 'utf8')) as Document
  const load = job.spec.template.spec!.containers![0]!
  const changes: Readonly<Record<string, string>> = {
    target,
    rate: '40/s',
    duration: '4s',
    ramp: '1s',
  }
  const args = load.args!.map((arg) => {
    const name = /^--([a-z]+)=/.exec(arg)?.[1]
    return name !== undefined && name in changes ? `--${name}=${changes[name]}` : arg
  })
  // Four pods on one node, which is busy with other tests.
  const resources = { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '512Mi' } }
  Object.assign(load, { image: SQUALL_IMAGE, imagePullPolicy: 'Never', args, resources })
  return stringify(job)
}
