import { join } from 'node:path'
import type { Certificates } from './certificates.ts'
import { type ConfigFiles, NODE, NODE_IP, POD_RANGE, SERVICE_RANGE } from './config-files.ts'

const ETCD = 'http://127.0.0.1:2379'
const ETCD_PEER = 'http://127.0.0.1:2380'

/** Returns the flags of etcd, whose data need not outlive it. */
export function etcdFlags(state: string): readonly string[] {
  return [
    `--data-dir=${join(state, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    `--listen-peer-urls=${ETCD_PEER}`,
    `--initial-advertise-peer-urls=${ETCD_PEER}`,
    `--initial-cluster=default=${ETCD_PEER}`,
  ]
}

/** Returns the flags of the API server. */
export function apiServerFlags(certificates: Certificates): readonly string[] {
  const { server, admin, ca, tokenKey, tokenPublicKey } = certificates
  return [
    `--etcd-servers=${ETCD}`,
    `--advertise-address=${NODE_IP}`,
    `--bind-address=${NODE_IP}`,
    '--secure-port=6443',
    `--tls-cert-file=${server}.crt`,
    `--tls-private-key-file=${server}.key`,
    `--client-ca-file=${ca}`,
    `--service-account-key-file=${tokenPublicKey}`,
    `--service-account-signing-key-file=${tokenKey}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--authorization-mode=RBAC',
    `--kubelet-client-certificate=${admin}.crt`,
    `--kubelet-client-key=${admin}.key`,
    // Nobody knows the node by its name.
    '--kubelet-preferred-address-types=InternalIP',
  ]
}

/** Returns the flags of the controller manager. */
export function controllerFlags(files: ConfigFiles, certificates: Certificates): readonly string[] {
  return [
    `--kubeconfig=${files.kubeconfig}`,
    '--leader-elect=false',
    `--service-account-private-key-file=${certificates.tokenKey}`,
    `--root-ca-file=${certificates.ca}`,
  ]
}

/** Returns the flags of the scheduler. */
export function schedulerFlags({ kubeconfig }: ConfigFiles): readonly string[] {
  return [`--kubeconfig=${kubeconfig}`, '--leader-elect=false']
}

/** Returns the flags of kube-proxy, which leave settings of the kernel unchanged. */
export function proxyFlags({ kubeconfig }: ConfigFiles): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--proxy-mode=nftables',
    `--hostname-override=${NODE}`,
    `--cluster-cidr=${POD_RANGE}`,
    '--conntrack-max-per-core=0',
    '--conntrack-min=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ]
}

/** Returns the flags of the kubelet. */
export function kubeletFlags(files: ConfigFiles, state: string): readonly string[] {
  return [
    `--config=${files.kubelet}`,
    `--kubeconfig=${files.kubeconfig}`,
    `--root-dir=${join(state, 'kubelet')}`,
    `--node-ip=${NODE_IP}`,
    `--hostname-override=${NODE}`,
  ]
}
