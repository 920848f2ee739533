import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Certificates } from './certificates.ts'
import type { Namespaces } from './namespaces.ts'
import { CNI_PLUGINS } from './programs.ts'

/** Addresses, which nobody outside the namespaces sees. */
export const NODE_IP = '10.77.0.1'
export const POD_RANGE = '10.78.0.0/16'
export const SERVICE_RANGE = '10.96.0.0/16'
const API_SERVER = `https://${NODE_IP}:6443`
/** The first address of Services is that of the API server. */
export const API_SERVICE_IP = '10.96.0.1'
/** The image that holds a pod's namespaces. */
export const PAUSE_IMAGE = 'localhost/pause:1'
/** The only node. */
export const NODE = 'node1'

/** Files that the parts of the cluster read, by path. */
export interface ConfigFiles {
  readonly kubeconfig: string
  readonly containerd: string
  readonly socket: string
  readonly kubelet: string
}

/** Writes them into the directory of the namespaces. */
export async function writeConfigFiles(
  { directory, state, cgroup }: Namespaces,
  certificates: Certificates,
): Promise<ConfigFiles> {
  const file = async (name: string, content: string | object): Promise<string> => {
    const path = join(directory, name)
    await writeFile(path, typeof content === 'string' ? content : stringify(content), {
      mode: 0o600,
    })
    return path
  }
  const { ca, server, admin } = certificates
  const socket = join(state, 'containerd.sock')
  const network = join(directory, 'cni')
  return {
    socket,
    kubeconfig: await file('admin.conf', {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'cluster',
      clusters: [{ name: 'cluster', cluster: { server: API_SERVER, 'certificate-authority': ca } }],
      users: [
        {
          name: 'admin',
          user: { 'client-certificate': `${admin}.crt`, 'client-key': `${admin}.key` },
        },
      ],
      contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: 'admin' } }],
    }),
    containerd: await file('containerd.toml', containerdConfig(state, socket, network)),
    kubelet: await file('kubelet.yaml', {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: false },
        x509: { clientCAFile: ca },
      },
      authorization: { mode: 'AlwaysAllow' },
      tlsCertFile: `${server}.crt`,
      tlsPrivateKeyFile: `${server}.key`,
      containerRuntimeEndpoint: `unix://${socket}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${cgroup}`,
      failCgroupV1: false,
      failSwapOn: false,
      makeIPTablesUtilChains: false,
      enforceNodeAllocatable: [],
      evictionHard: {},
      localStorageCapacityIsolation: false,
      maxPods: 60,
      podLogsDir: join(state, 'pod-logs'),
      // Nothing answers for names here, and what this machine uses is not for pods.
      resolvConf: await file('resolv.conf', 'options attempts:1 timeout:1\n'),
    }),
  }
}

/** Writes how pods get their network, which containerd looks for in a directory. */
export function networkConfig({ state }: Namespaces): string {
  const ipam = {
    type: 'host-local',
    ranges: [[{ subnet: POD_RANGE }]],
    routes: [{ dst: '0.0.0.0/0' }],
    dataDir: join(state, 'addresses'),
  }
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, hairpinMode: true, ipam }
  return JSON.stringify({ cniVersion: '0.4.0', name: 'pods', plugins: [bridge] })
}

function containerdConfig(state: string, socket: string, network: string): string {
  return `version = 2
root = "${state}/containerd"
state = "${state}/containerd-run"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # A sandbox may not lower the score of its processes.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${CNI_PLUGINS}"
    conf_dir = "${network}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
`
}
