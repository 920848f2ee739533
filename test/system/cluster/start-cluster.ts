import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCertificates } from './certificates.ts'
import { API_SERVICE_IP, networkConfig, NODE, NODE_IP, writeConfigFiles } from './config-files.ts'
import {
  apiServerFlags,
  controllerFlags,
  etcdFlags,
  kubeletFlags,
  proxyFlags,
  schedulerFlags,
} from './control-plane.ts'
import {
  type CommandOptions,
  type CommandRun,
  makeNamespaces,
  type Namespaces,
} from './namespaces.ts'
import { type ClusterProgram, clusterProgram } from './programs.ts'

const STARTS_WITHIN = 180_000
const STEP_MS = 200
const LAST_LINES = 15

/** A Kubernetes cluster with one node, in namespaces of its own. */
export interface Cluster {
  readonly kubeconfig: string
  readonly namespaces: Namespaces
  /** Runs kubectl and returns what it prints; throws what it complains of. */
  kubectl(args: readonly string[], input?: string): Promise<string>
  /** Runs a program as a user of the cluster does. */
  user(program: string, args: readonly string[], options?: CommandOptions): Promise<CommandRun>
  /** Gives the node an image from an archive of Docker's or OCI's. */
  importImage(archive: string): Promise<void>
  /** The last lines of what the parts have logged, for a failure. */
  lastLogs(): Promise<string>
  close(): Promise<void>
}

/** Starts it; resolves when its node is ready. */
export async function nodeCluster(): Promise<Cluster> {
  const namespaces = await makeNamespaces()
  try {
    return await start(namespaces)
  } catch (error) {
    const logs = await lastLogs(namespaces)
    await namespaces.close()
    throw new Error(`the cluster did not start: ${String(error)}\n${logs}`, { cause: error })
  }
}

async function start(namespaces: Namespaces): Promise<Cluster> {
  const { directory, state } = namespaces
  const keys = join(directory, 'pki')
  await mkdir(keys)
  await mkdir(join(directory, 'cni'))
  await writeFile(join(directory, 'cni/pods.conflist'), networkConfig(namespaces))
  const [certificates] = await Promise.all([
    makeCertificates(keys, [NODE_IP, '127.0.0.1', API_SERVICE_IP]),
    makeNodeAddress(namespaces),
  ])
  const files = await writeConfigFiles(namespaces, certificates)
  const env = { KUBECONFIG: files.kubeconfig, NO_PROXY: '*', HOME: directory }
  const user = (
    program: string,
    args: readonly string[],
    options: CommandOptions = {},
  ): Promise<CommandRun> =>
    namespaces.user(program, args, { ...options, env: { ...env, ...options.env } })

  async function kubectl(args: readonly string[], input?: string): Promise<string> {
    const options = input === undefined ? {} : { input }
    const { ok, text, out } = await user(clusterProgram('kubectl'), args, options)
    if (!ok) throw new Error(`kubectl ${args.join(' ')}: ${text}`)
    return out
  }

  /** Waits until something is so; what it last threw is why it was not. */
  async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + STARTS_WITHIN
    let why = ''
    while (performance.now() < end) {
      const gone = namespaces.ended()
      if (gone.length > 0) throw new Error(`${gone.join(', ')} ended`)
      try {
        if (await isSo()) return
      } catch (error) {
        why = String(error)
      }
      await sleep(STEP_MS)
    }
    throw new Error(`${what} was not so in time: ${why}`)
  }

  const begin = (name: ClusterProgram, flags: readonly string[]): void =>
    namespaces.start(name, clusterProgram(name), flags)
  const ctr = (...args: readonly string[]): Promise<CommandRun> =>
    namespaces.inside('ctr', ['--address', files.socket, '--namespace', 'k8s.io', ...args])

  begin('etcd', etcdFlags(state))
  namespaces.start('containerd', 'containerd', ['-c', files.containerd])
  begin('kube-apiserver', apiServerFlags(certificates))
  await until('the API server ready', async () => {
    return (await kubectl(['get', '--raw', '/readyz'])) === 'ok'
  })
  begin('kube-controller-manager', controllerFlags(files, certificates))
  begin('kube-scheduler', schedulerFlags(files))
  begin('kube-proxy', proxyFlags(files))
  await until('containerd ready', async () => (await ctr('version')).ok)
  begin('kubelet', kubeletFlags(files, state))
  const ready = '{.status.conditions[?(@.type=="Ready")].status}'
  await until('the node ready', async () => {
    return (await kubectl(['get', 'node', NODE, '-o', `jsonpath=${ready}`])) === 'True'
  })
  return {
    kubeconfig: files.kubeconfig,
    namespaces,
    kubectl,
    user,
    importImage: async (archive) => {
      const { ok, text } = await ctr('images', 'import', archive)
      if (!ok) throw new Error(`image ${archive}: ${text}`)
    },
    lastLogs: () => lastLogs(namespaces),
    close: () => namespaces.close(),
  }
}

/** A bridge with an address, since not every kernel has devices for that alone. */
async function makeNodeAddress(namespaces: Namespaces): Promise<void> {
  const ip = async (...args: readonly string[]): Promise<void> => {
    const { ok, text } = await namespaces.inside('ip', args)
    if (!ok) throw new Error(`ip ${args.join(' ')}: ${text}`)
  }
  await ip('link', 'add', 'node0', 'type', 'bridge')
  await ip('addr', 'add', `${NODE_IP}/24`, 'dev', 'node0')
  await ip('link', 'set', 'node0', 'up')
  // Kubelet takes the address of the node from the device of this route. It leads nowhere.
  await ip('route', 'add', 'default', 'dev', 'node0')
  const forward = 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  const { ok, text } = await namespaces.inside('sh', ['-c', forward])
  if (!ok) throw new Error(`packets cannot be forwarded: ${text}`)
}

async function lastLogs(namespaces: Namespaces): Promise<string> {
  const names = ['kube-apiserver', 'kube-controller-manager', 'kubelet', 'containerd', 'kube-proxy']
  const parts = names.map(async (name) => {
    const lines = (await namespaces.log(name)).trimEnd().split('\n')
    return `--- ${name}\n${lines.slice(-LAST_LINES).join('\n')}\n`
  })
  return (await Promise.all(parts)).join('')
}
