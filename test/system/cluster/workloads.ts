import { readFile } from 'node:fs/promises'
import { parse, parseAllDocuments, stringify } from 'yaml'
import type { Pod, Probe } from '../../../src/cluster/injector/pod-types.ts'
import { APP_IMAGE, SQUALL_IMAGE } from '../pod-images.ts'

const EXAMPLE = new URL('../../../deploy/examples/mcp-server.yaml', import.meta.url)
const LOAD = new URL('../../../deploy/examples/load-job.yaml', import.meta.url)

interface Document {
  readonly kind: string
  readonly metadata: { namespace: string }
  readonly spec: { readonly template: Pod }
}

/** The example of the documents, in a namespace, with a server that there is. */
export async function example(namespace: string, livenessProbe?: Probe): Promise<string> {
  const documents = parseAllDocuments(await readFile(EXAMPLE, 'utf8')).map(
    (document) => document.toJS() as Document,
  )
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
