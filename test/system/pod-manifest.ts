import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse, parseAllDocuments, stringify } from 'yaml'
import type { Container, Pod, PodSpec, Volume } from '../../packages/kubernetes/src/injector/pod.ts'
import { parseInjectorSettings } from '../../packages/kubernetes/src/injector/parse-settings.ts'
import { judge, patched } from '../support/cluster.ts'
import { APP_IMAGE, SIDECAR_IMAGE } from './pod-images.ts'
import { startSquall } from '../support/commands.ts'

const run = promisify(execFile)
const PROGRAM =
  process.env['SQUALL_PROGRAM'] ?? fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** The name of the upstream's container. */
export const APP = 'server'

/**
 * The template of the example Deployment, before Squall. The image is one that there is, and to
 * what it asks of the upstream come a probe and a hook of another kind.
 */
export function template(host = '::'): Pod {
  const text = readFileSync(
    new URL('../../deploy/examples/mcp-server.yaml', import.meta.url),
    'utf8',
  )
  const deployment = parseAllDocuments(text)
    .map((document) => document.toJS() as { kind: string; spec: { template: Pod } })
    .find(({ kind }) => kind === 'Deployment')
  const { metadata, spec } = deployment!.spec.template
  const containers = spec!.containers!.map((container) => ({
    ...container,
    image: APP_IMAGE,
    imagePullPolicy: 'Never',
    env: [
      ...(container.env ?? []),
      { name: 'HOST', value: host },
      { name: 'PRICE', value: 'costs $5' },
    ],
    livenessProbe: {
      httpGet: { path: '/executed', port: 'mcp' },
      periodSeconds: 2,
      failureThreshold: 2,
    },
    lifecycle: { preStop: { httpGet: { path: '/executed', port: 3000 } } },
  }))
  return { metadata: metadata!, spec: { ...spec, containers } }
}

/** The pod as the webhook makes it, asked over TLS as an API server asks. */
export async function injectedByWebhook(pod: Pod): Promise<Pod> {
  const settings = parseInjectorSettings({ image: SIDECAR_IMAGE }, '0.0.0')
  // Podman knows no native sidecars; neither does a cluster of this age.
  const staged = await startSquall({ webhook: { settings, minor: 28 } })
  try {
    const { patch, status } = await judge(staged.port, pod)
    if (patch === undefined) throw new Error(`not injected: ${status?.message}`)
    return patched(pod, patch) as Pod
  } finally {
    await staged.close()
  }
}

/** The pod as `squall inject` makes it of a Deployment with this template. */
export async function injectedByCommand(pod: Pod, mode: string): Promise<Pod> {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'mcp-server', namespace: 'shop' },
    spec: { selector: { matchLabels: pod.metadata?.labels ?? {} }, template: pod },
  }
  const args = ['inject', '-f', '-', '--annotation', `mode=${mode}`, '--image', SIDECAR_IMAGE]
  const asked = run(process.execPath, [PROGRAM, ...args])
  asked.child.stdin?.end(stringify(deployment))
  const { stdout } = await asked
  return (parse(stdout) as { spec: { template: Pod } }).spec.template
}

/** Where the pod runs, which a kubelet would know. */
export interface Place {
  readonly name: string
  readonly ip: string
  /** Directory that stands for the mounted ConfigMap. */
  readonly rules: string
  /** Directory that stands for the `emptyDir`. */
  readonly scratch: string
}

/**
 * The pod for `podman kube play`, which is no kubelet: it knows no address of a pod in variables
 * and no variable in arguments, asks no probes without systemd, runs no hooks, copies a ConfigMap
 * once, and opens each declared port on the machine. The test does these itself, or does without.
 */
export function forPodman({ spec }: Pod, place: Place): string {
  const { name, ip } = place
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      ...spec,
      restartPolicy: 'Never',
      // That of whoever starts it: the namespace that the test made for the pod.
      hostNetwork: true,
      initContainers: spec?.initContainers?.map((container) => plain(container, name, ip)) ?? [],
      containers: spec?.containers?.map((container) => plain(container, name, ip)) ?? [],
      volumes: spec?.volumes?.map((volume) => live(volume, place)) ?? [],
    } satisfies PodSpec,
  }
  return stringify(pod)
}

function plain(container: Container, name: string, ip: string): Container {
  const { readinessProbe, livenessProbe, startupProbe, lifecycle, ports, ...rest } = container
  void [readinessProbe, livenessProbe, startupProbe, lifecycle, ports]
  const known: Readonly<Record<string, string>> = { 'status.podIP': ip, 'metadata.name': name }
  const env = rest.env?.flatMap((variable) => {
    const field = (variable as { valueFrom?: { fieldRef?: { fieldPath: string } } }).valueFrom
    if (field === undefined) return [variable]
    const value = known[field.fieldRef?.fieldPath ?? '']
    // The remaining variables refer to optional Secrets.
    return value === undefined ? [] : [{ name: variable.name, value }]
  })
  const values = new Map(env?.map((variable) => [variable.name, variable.value ?? '']))
  const args = rest.args?.map((arg) => expanded(arg, values))
  return { ...rest, imagePullPolicy: 'Never', ...(env && { env }), ...(args && { args }) }
}

/** Variables of the container in its arguments. */
function expanded(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\(([^)]+)\))/g, (all, name?: string) =>
    name === undefined ? '$' : (values.get(name) ?? all),
  )
}

/**
 * A directory of the machine: what is in it stays up to date, and it belongs to whom the test says.
 */
function live(volume: Volume, { rules, scratch }: Place): Volume {
  const { configMap } = volume as { configMap?: unknown }
  const path = configMap === undefined ? scratch : rules
  return { name: volume.name, hostPath: { path, type: 'Directory' } } as Volume
}
