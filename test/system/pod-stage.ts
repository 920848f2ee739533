import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { failing, mountRules, type MountedRules } from '../live/rules-directory.ts'
import type { Pod } from '../../packages/kubernetes/src/injector/pod.ts'
import { STORAGE } from './pod-images.ts'
import { forPodman } from './pod-manifest.ts'
import { ADDRESSES, asker, type Peer, podNetwork } from './pod-network.ts'

const run = promisify(execFile)
const CLIENT = fileURLToPath(new URL('./pod-client.mjs', import.meta.url))
/** The address of the pod. */
export const [POD_IP] = ADDRESSES.pod

/** The exit code and output of a program in a container. */
export interface Ran {
  readonly code: number
  readonly output: string
}

/** The result of a probe. */
export interface Probed {
  readonly status: number
  readonly marker: string | null
  readonly text: string
}

/** A pod that runs, in a network of its own, and a client outside of it. */
export interface PodStage {
  readonly rules: MountedRules
  /** Connects the MCP client; the result are the tools. */
  connect(url: string): Promise<readonly string[]>
  call(tool: string, args: object): Promise<string>
  probe(url: string): Promise<Probed>
  /** Starts a process outside that serves or calls. */
  outside(): Promise<Peer>
  /** Runs a program in a container. */
  exec(container: string, ...command: readonly string[]): Promise<Ran>
  /** Sends SIGTERM, and SIGKILL after a while; the result is how the container's program ended. */
  stop(container: string, seconds: number): Promise<number>
  inspect(container: string, format: string): Promise<string>
  logs(container: string): Promise<string>
  close(): Promise<void>
}

/** Runs the pod; `name` is unlike any other's. */
export async function runningPod(name: string, pod: Pod): Promise<PodStage> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-pod-'))
  const rules = await mountRules('rules: []\n')
  // Like that of a ConfigMap, which every user of the pod may read.
  await chmod(rules.directory, 0o755)
  // Sandboxes leave no room for the usual limits.
  const conf = join(directory, 'containers.conf')
  await writeFile(
    conf,
    '[containers]\ndefault_ulimits = ["nofile=10000:10000", "nproc=10000:10000"]\n',
  )
  // As the kubelet makes an emptyDir: everybody may write to it, whoever can see it.
  const scratch = join(directory, 'scratch')
  await mkdir(scratch)
  await chmod(scratch, 0o777)
  const env = { ...process.env, CONTAINERS_CONF: conf }
  // Podman makes no network here, and so changes nothing of this machine's.
  const network = await podNetwork()

  async function podman(...args: readonly string[]): Promise<Ran> {
    const global = [...STORAGE, '--runtime', 'runc', '--cgroup-manager', 'cgroupfs']
    // It writes down a network even where it makes none.
    global.push('--network-config-dir', join(directory, 'networks'))
    try {
      const command = [`--net=${network.path}`, 'podman', ...global, ...args]
      const { stdout, stderr } = await run('nsenter', command, { env, timeout: 150_000 })
      // Keeps the standard error of a container, but no warnings of Podman's own.
      const errors = args[0] === 'logs' ? stderr : ''
      return { code: 0, output: `${stdout}${errors}`.trim() }
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { code, output: `${stdout}${stderr}`.trim() }
    }
  }

  async function done(...args: readonly string[]): Promise<string> {
    const { code, output } = await podman(...args)
    if (code === 0) return output
    throw new Error(`podman ${args[0]} ${args[1]} ended with ${code}: ${output}`)
  }

  const close = async (): Promise<void> => {
    await podman('pod', 'rm', '-f', '-t', '0', name)
    await network.close()
    await rules.remove()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const manifest = join(directory, 'pod.yaml')
    await writeFile(manifest, forPodman(pod, { name, ip: POD_IP, rules: rules.directory, scratch }))
    await done('kube', 'play', manifest)
  } catch (error) {
    await close()
    throw error
  }
  const client = network.script('outside', CLIENT)
  const ask = asker(client)
  return {
    rules,
    connect: (url) => ask('connect', { url }) as Promise<readonly string[]>,
    call: (tool, args) => ask('call', { tool, args }) as Promise<string>,
    probe: (url) => ask('probe', { url }) as Promise<Probed>,
    outside: () => network.peer('outside'),
    exec: (container, ...command) => podman('exec', `${name}-${container}`, ...command),
    stop: async (container, seconds) => {
      await podman('stop', '-t', String(seconds), `${name}-${container}`)
      return Number(await done('wait', `${name}-${container}`))
    },
    inspect: (container, format) => done('inspect', '--format', format, `${name}-${container}`),
    logs: async (container) => (await podman('logs', `${name}-${container}`)).output,
    close,
  }
}

/** A rules file whose rule fails a tool, and whose other one breaks an ordinary path. */
export function armed(tool: string, path: string): string {
  const http = `  - name: no-health\n    match: { http: { path: ${path} } }\n    faults: [abort: { status: 503 }]\n`
  return failing('broken', tool) + http
}
