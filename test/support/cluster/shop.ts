import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { injectPod } from '../../../packages/kubernetes/src/injector/inject-pod.ts'
import { parseInjectorSettings } from '../../../packages/kubernetes/src/injector/parse-settings.ts'
import { asked } from '../commands/command-line.ts'
import { responding, type HttpApp } from '../wire/http-app.ts'
import { call, callMessage } from '../wire/http-call.ts'
import { startSquall, type Squall } from '../commands/squall.ts'
import { mountRules, type MountedRules } from '../../live/rules-directory.ts'
import type { ApplyRequest } from '../../../packages/kubernetes/src/commands/apply.ts'
import type { StatusRequest } from '../../../packages/kubernetes/src/commands/status.ts'
import type { StopRequest } from '../../../packages/kubernetes/src/commands/stop.ts'
import { applyCommand } from '../../../packages/kubernetes/src/cli/apply.ts'
import { statusCommand } from '../../../packages/kubernetes/src/cli/status.ts'
import { stopCommand } from '../../../packages/kubernetes/src/cli/stop.ts'
import { UsageError } from '../../../src/base/flags/usage-error.ts'
import { STOP_KEY } from '../../../src/rules/guard/stop-key.ts'
import { type Cluster, apiCluster } from './api-cluster.ts'
import { startUpstream } from '../wire/upstream.ts'

/** A namespace with pods whose sidecars run for real, each with its mounted ConfigMap. */
export interface Shop extends Cluster {
  /** Adds a pod with a sidecar that runs. */
  addPod(name: string, options?: PodOptions): Promise<Squall>
  /** Adds a pod that exists only in the API server. */
  addPaper(name: string, options?: PodOptions & { readonly sidecar?: object | null }): void
  /** Returns the content of a ConfigMap. */
  rules(configMap?: string): Readonly<Record<string, string>>
  /** Calls a tool through a sidecar. */
  ask(squall: Squall, tool?: string): Promise<string>
  apply(...args: readonly string[]): Promise<CommandResult>
  status(...args: readonly string[]): Promise<CommandResult>
  stop(...args: readonly string[]): Promise<CommandResult>
  resume(...args: readonly string[]): Promise<CommandResult>
}

/** Differences of a pod from the default pod. */
export interface PodOptions {
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  /** Kubelet does not hear of touched pods. */
  readonly isDeaf?: boolean
  readonly flags?: readonly string[]
  /** The port of the MCP server behind it. */
  readonly server?: number
}

/** The output and exit code of a command. */
export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

const POD = /^\/api\/v1\/namespaces\/shop\/pods\/([^/]+)$/

/** Starts an API server and nothing else; kubelet is played by swapping mounts of touched pods. */
export async function shopCluster(): Promise<Shop> {
  const cluster = await apiCluster()
  const app: HttpApp = await startUpstream(responding('fine'))
  const opened: { close(): unknown }[] = []
  const mounts = new Map<string, { mounted: MountedRules; configMap: string }>()
  const rules: Shop['rules'] = (configMap = 'squall-rules') => {
    const found = cluster.api.store.get(`/api/v1/namespaces/shop/configmaps/${configMap}`)
    return (found?.['data'] ?? {}) as Record<string, string>
  }
  cluster.api.before = async ({ method, path }) => {
    const touched = method === 'PATCH' ? POD.exec(path)?.[1] : undefined
    const mount = mounts.get(touched ?? '')
    const { 'rules.yaml': text, 'squall-stop': stop } = mount ? rules(mount.configMap) : {}
    if (mount && stop !== undefined) await writeFile(join(mount.mounted.directory, STOP_KEY), stop)
    else if (mount) await rm(join(mount.mounted.directory, STOP_KEY), { force: true })
    if (text !== undefined && !cluster.api.denied.has('patch pods')) await mount?.mounted.swap(text)
    return undefined
  }
  const add = (name: string, directory: string, options: PodOptions, status: object): void => {
    cluster.api.put(
      `/api/v1/namespaces/shop/pods/${name}`,
      injectedPod(name, directory, options, status),
    )
  }
  let id = 0
  const stopOrResume = (action: string, args: readonly string[]): Promise<CommandResult> =>
    run((output) =>
      stopCommand(
        asked([action, '--kubeconfig', cluster.kubeconfig, ...args]) as StopRequest,
        output,
      ),
    )
  return {
    ...cluster,
    rules,
    addPod: async (name, options = {}) => {
      const mounted = await mountRules('# none yet\n')
      const upstream = ['--upstream', `http://127.0.0.1:${options.server ?? app.port}`]
      const squall = await startSquall(
        ...upstream,
        '--rules',
        mounted.directory,
        ...(options.flags ?? []),
      )
      opened.push(squall, { close: () => mounted.remove() })
      const configMap = options.annotations?.['squall.dev/rules'] ?? 'squall-rules'
      if (options.isDeaf !== true) mounts.set(name, { mounted, configMap })
      cluster.api.sidecars.set(`shop/${name}`, squall.admin)
      add(name, mounted.directory, options, { running: { startedAt: 'now' } })
      return squall
    },
    addPaper: (name, options = {}) =>
      add(name, '/etc/squall/rules', options, options.sidecar ?? { waiting: {} }),
    ask: async (squall, tool = 'probe') => {
      const { status, text } = await call(
        { port: squall.port, host: '127.0.0.1' },
        callMessage(++id, tool),
      )
      return `${status} ${text}`
    },
    apply: (...args) =>
      run((output) =>
        applyCommand(
          asked(['apply', '--kubeconfig', cluster.kubeconfig, ...args]) as ApplyRequest,
          output,
        ),
      ),
    status: (...args) =>
      run(({ out }) =>
        statusCommand(
          asked(['status', '--kubeconfig', cluster.kubeconfig, ...args]) as StatusRequest,
          { ...out, on: () => undefined, off: () => undefined },
        ),
      ),
    stop: (...args) => stopOrResume('stop', args),
    resume: (...args) => stopOrResume('resume', args),
    close: async () => {
      for (const each of opened) await each.close()
      await app.close()
      await cluster.close()
    },
  }
}

/**
 * As the injector leaves it, but for the directory of the rules, which is another for each process
 * here.
 */
export function injectedPod(
  name: string,
  directory: string,
  options: PodOptions,
  state: object,
): Record<string, unknown> {
  const pod = {
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-of-${name}`,
      labels: { app: 'shop', ...options.labels },
      annotations: { 'squall.dev/inject': 'true', ...options.annotations },
    },
    spec: {
      containers: [{ name: 'app', image: 'shop:1', ports: [{ name: 'mcp', containerPort: 3000 }] }],
    },
  }
  const injection = injectPod(pod, {
    namespace: { name: 'shop', labels: {}, annotations: {} },
    minor: 33,
    settings: parseInjectorSettings({}, '0.0.0'),
    owner: 'ReplicaSet',
  })
  if (injection.kind !== 'injected') throw new Error(injection.message)
  const text = JSON.stringify(injection.pod).replaceAll('/etc/squall/rules', directory)
  const conditions = 'running' in state ? [{ type: 'Ready', status: 'True' }] : []
  const status = {
    phase: 'Running',
    conditions,
    initContainerStatuses: [{ name: 'squall', state }],
  }
  return { ...(JSON.parse(text) as object), status }
}

async function run(
  command: (output: { out: Sink; err: Sink }) => Promise<number>,
): Promise<CommandResult> {
  const written = { out: '', err: '' }
  const sink = (name: 'out' | 'err'): Sink => ({ write: (text) => void (written[name] += text) })
  const code = await command({ out: sink('out'), err: sink('err') }).catch((error: unknown) => {
    written.err += (error as Error).message
    return error instanceof UsageError ? 2 : 1
  })
  return { code, ...written }
}

interface Sink {
  write(text: string): unknown
}
