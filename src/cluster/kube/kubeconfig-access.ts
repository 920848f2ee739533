import { resolve } from 'node:path'
import { isRecord, textOf } from '../../base/values.ts'
import { oneLine } from '../../base/text/foreign-text.ts'
import type { ClusterAccess, ClusterTls, CredentialSource } from './cluster-access.ts'
import { ExecCredentials, readExecSpec } from './exec-credentials.ts'
import { KubeError } from './kube-error.ts'
import { readKubeFile } from './kube-file.ts'
import type { Kubeconfig, KubeconfigPart } from './kubeconfig-files.ts'
import { checkedToken, TokenFile } from './token.ts'

/** Returns the access that a context of a kubeconfig gives; the current context when none is named. */
export function kubeconfigAccess(config: Kubeconfig, wanted: string | undefined): ClusterAccess {
  const name = wanted ?? config.currentContext
  const among = `; there ${config.contexts.size === 1 ? 'is' : 'are'} ${nameList(config.contexts)}`
  if (name === undefined) {
    throw bad(config, `no current-context is set${among}; choose one with --context`)
  }
  const context = config.contexts.get(name)
  if (context === undefined) {
    throw bad(config, `there is no context "${oneLine(name)}"${among}; choose with --context`)
  }
  const cluster = partOf(config, 'cluster', name, context.fields['cluster'])
  const tls = clusterTls(cluster)
  const server = serverOf(cluster)
  const user = textOf(context.fields['user'])
  return {
    server,
    tls,
    credentials:
      user === undefined
        ? { get: () => Promise.resolve({}) }
        : credentialsOf(partOf(config, 'user', name, user), user, { server, tls, cluster }),
    namespace: textOf(context.fields['namespace']) ?? 'default',
    name: `context "${oneLine(name)}"`,
  }
}

function partOf(
  config: Kubeconfig,
  kind: 'cluster' | 'user',
  context: string,
  name: unknown,
): KubeconfigPart {
  const parts = kind === 'cluster' ? config.clusters : config.users
  const part = typeof name === 'string' ? parts.get(name) : undefined
  if (part !== undefined) return part
  const which = typeof name === 'string' ? `"${oneLine(name)}", which is not there` : 'none'
  throw bad(config, `context "${oneLine(context)}" names as its ${kind} ${which}; fix it`)
}

function serverOf({ fields, file }: KubeconfigPart): URL {
  const text = textOf(fields['server'])
  if (textOf(fields['proxy-url']) !== undefined) {
    throw new KubeError(
      'config',
      `kubeconfig: ${file}: proxy-url is not supported; run kubectl proxy and use a context for it, or run squall where no proxy is needed`,
    )
  }
  const server = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  if (server === undefined || !/^https?:$/.test(server.protocol)) {
    throw new KubeError('config', `kubeconfig: ${file}: the cluster has no server URL; add one`)
  }
  if (server.username !== '' || server.password !== '') {
    throw new KubeError('config', `kubeconfig: ${file}: the server URL holds a password; drop it`)
  }
  return server
}

function clusterTls(part: KubeconfigPart): ClusterTls {
  const { fields, file } = part
  const ca = fileOrData(part, 'certificate-authority')
  const insecure = fields['insecure-skip-tls-verify'] === true
  if (insecure && ca !== undefined) {
    throw new KubeError(
      'config',
      `kubeconfig: ${file}: insecure-skip-tls-verify makes certificate-authority pointless; leave one of the two out`,
    )
  }
  return { ca, insecure, servername: textOf(fields['tls-server-name']) }
}

function credentialsOf(
  part: KubeconfigPart,
  user: string,
  place: { readonly server: URL; readonly tls: ClusterTls; readonly cluster: KubeconfigPart },
): CredentialSource {
  const { fields, directory, file } = part
  const where = `kubeconfig: ${file}: user "${oneLine(user)}"`
  const cert = fileOrData(part, 'client-certificate')
  const key = fileOrData(part, 'client-key')
  if ((cert === undefined) !== (key === undefined)) {
    throw new KubeError('config', `${where} has one of client-certificate and client-key only`)
  }
  for (const [gone, instead] of GONE) {
    if (fields[gone] !== undefined) {
      throw new KubeError('config', `${where}: ${gone} is not supported; ${instead}`)
    }
  }
  if (isRecord(fields['exec'])) {
    const spec = readExecSpec(fields['exec'], directory, where)
    const provided = fields['exec']['provideClusterInfo'] === true
    const { server, tls, cluster } = place
    const config = cluster.fields['extensions']
    const info = provided ? { server: server.href, tls, extensions: config } : undefined
    return new ExecCredentials(spec, { cert, key }, info)
  }
  const tokenFile = textOf(fields['tokenFile'])
  if (tokenFile !== undefined) return new TokenFile(resolve(directory, tokenFile), { cert, key })
  const given = textOf(fields['token'])
  const token = given === undefined ? undefined : checkedToken(given, `${where}: token`)
  return { get: () => Promise.resolve({ token, cert, key }) }
}

const GONE = [
  ['auth-provider', 'use an exec plugin, as kubectl does since 1.26'],
  ['username', 'API servers take no passwords any more; use a token or a certificate'],
  ['password', 'API servers take no passwords any more; use a token or a certificate'],
  ['as', 'impersonation is not supported; use a context without it'],
] as const

/** PEM from a file, or from the base64 beside it, which goes first. */
function fileOrData({ fields, directory, file }: KubeconfigPart, name: string): string | undefined {
  const data = textOf(fields[`${name}-data`])
  const path = textOf(fields[name])
  const text =
    data !== undefined
      ? Buffer.from(data, 'base64').toString('utf8')
      : path === undefined
        ? undefined
        : readKubeFile(resolve(directory, path), name)
  if (text !== undefined && !text.includes('-----BEGIN ')) {
    throw new KubeError('config', `kubeconfig: ${file}: ${name} is not PEM; fix it`)
  }
  return text
}

function nameList(parts: ReadonlyMap<string, unknown>): string {
  const names = [...parts.keys()].slice(0, 20).map((name) => oneLine(name))
  return names.length === 0 ? 'none' : names.join(', ')
}

function bad(config: Kubeconfig, message: string): KubeError {
  return new KubeError('config', `kubeconfig ${config.files.join(', ')}: ${message}`)
}
