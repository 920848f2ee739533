import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BUILT = fileURLToPath(new URL('../../../build/cluster/bin/', import.meta.url))
const BUILD = 'sh test/system/cluster/tools/build.sh'

/** The programs of a cluster that tools/build.sh makes. */
export type ClusterProgram =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kube-proxy'
  | 'kubelet'
  | 'kubectl'
  | 'pause'

const PROGRAMS: readonly ClusterProgram[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'kubelet',
  'kubectl',
  'pause',
]

/** Programs of the system, with the package of Debian that has them. */
const PACKAGES: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  openssl: 'openssl',
  socat: 'socat',
  ip: 'iproute2',
  nft: 'nftables',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  buildah: 'buildah',
}

/** Where the network plugins of the package containernetworking-plugins are. */
export const CNI_PLUGINS =
  ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'].find((directory) =>
    existsSync(`${directory}/bridge`),
  ) ?? '/usr/lib/cni'

/** The path of a program that was built for the cluster. */
export function clusterProgram(name: ClusterProgram): string {
  return `${BUILT}${name}`
}

/** Returns the reason that a cluster cannot start; undefined if it can. */
export function clusterMissing(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return 'a cluster needs namespaces: run it as root on Linux'
  }
  const unbuilt = PROGRAMS.filter((name) => !existsSync(clusterProgram(name)))
  if (unbuilt.length > 0) return `${unbuilt.join(', ')} are missing: ${BUILD} builds them`
  const wanted = Object.keys(PACKAGES).filter((name) => !isOnPath(name))
  const packages = new Set(wanted.map((name) => PACKAGES[name]!))
  if (!existsSync(`${CNI_PLUGINS}/bridge`)) packages.add('containernetworking-plugins')
  if (packages.size === 0) return undefined
  return `programs are missing: apt-get install ${[...packages].join(' ')}`
}

function isOnPath(name: string): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v "$0"', name], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
