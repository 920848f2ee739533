import { existsSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import {
  assertShallow,
  DeepYamlError,
  type Fields,
  fieldsOf,
  isRecord,
  listOf,
  oneLine,
  textOf,
} from '#base'
import {
  checkedToken,
  type ClusterAccess,
  configError,
  type CredentialSource,
  readKubeFile,
  TokenFile,
} from './cluster-access.ts'
import { type ExecCluster, ExecCredentials, readExecSpec } from './exec-credentials.ts'
import { KubeError } from './kube-error.ts'

/** A named part of a kubeconfig, and the directory that its relative paths start from. */
interface KubeconfigPart {
  readonly fields: Fields
  readonly directory: string
  readonly file: string
}

type KubeconfigParts = ReadonlyMap<string, KubeconfigPart>

/** Returns the given file, else the files of KUBECONFIG, else the file in the home directory. */
export function kubeconfigPaths(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  if (given !== undefined) return [given]
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return listed
  const home = env['HOME'] ?? env['USERPROFILE']
  return home === undefined ? [] : [join(home, '.kube', 'config')]
}

/**
 * Reads and merges the files; of two parts with one name the first counts. Absent files are left
 * out, unless the user gave the file.
 */
export function readKubeconfig(paths: readonly string[], isGiven: boolean) {
  const files = isGiven ? paths : paths.filter((path) => existsSync(path))
  if (files.length === 0) {
    const looked = paths.length === 0 ? '' : ` (looked for ${paths.join(', ')})`
    throw configError(
      `there is no kubeconfig${looked}; set KUBECONFIG, or name one with --kubeconfig`,
    )
  }
  const parts = (): Map<string, KubeconfigPart> => new Map()
  const maps = { clusters: parts(), users: parts(), contexts: parts() }
  let currentContext: string | undefined
  for (const file of files) {
    const document = parsed(file)
    currentContext ??= textOf(document['current-context'])
    for (const kind of ['clusters', 'users', 'contexts'] as const) {
      for (const entry of listOf(document[kind])) {
        const name = textOf(entry['name'])
        if (name === undefined || maps[kind].has(name)) continue
        const fields = fieldsOf(entry[kind.slice(0, -1)])
        maps[kind].set(name, { fields, directory: dirname(file), file })
      }
    }
  }
  return { files, currentContext, ...maps }
}

function parsed(file: string): Fields {
  let document: unknown
  try {
    const text = readKubeFile(file, 'kubeconfig')
    assertShallow(text)
    document = parse(text, { maxAliasCount: 20, logLevel: 'error' })
  } catch (error) {
    if (error instanceof KubeError) throw error
    if (error instanceof DeepYamlError) {
      throw configError(`kubeconfig: ${file}: ${error.message}; fix it`)
    }
    // The parser's message may quote the line, which may hold a secret.
    const { linePos } = error as { linePos?: [{ line: number }] }
    const where = linePos === undefined ? '' : ` (line ${linePos[0].line})`
    throw configError(`kubeconfig: ${file} is not YAML${where}; fix it`)
  }
  if (document === null || document === undefined) return {}
  if (!isRecord(document)) throw configError(`kubeconfig: ${file} is not a kubeconfig`)
  return document
}

/**
 * Returns the access that a context of a kubeconfig gives; the current context when none is named.
 */
export function kubeconfigAccess(
  config: ReturnType<typeof readKubeconfig>,
  wanted: string | undefined,
): ClusterAccess {
  const { contexts, currentContext, files } = config
  const invalid = (message: string): KubeError =>
    configError(`kubeconfig ${files.join(', ')}: ${message}`)
  const partOf = (kind: 'cluster' | 'user', context: string, given: unknown): KubeconfigPart => {
    const name = typeof given === 'string' ? given : undefined
    const part = name === undefined ? undefined : config[`${kind}s`].get(name)
    if (part !== undefined) return part
    const which = name === undefined ? 'none' : `"${oneLine(name)}", which does not exist`
    throw invalid(`context "${oneLine(context)}" names as its ${kind} ${which}; fix it`)
  }
  const name = wanted ?? currentContext
  const among = `; there ${contexts.size === 1 ? 'is' : 'are'} ${nameList(contexts)}`
  if (name === undefined)
    throw invalid(`no current-context is set${among}; choose one with --context`)
  const fields = contexts.get(name)?.fields
  if (fields === undefined) {
    throw invalid(`there is no context "${oneLine(name)}"${among}; choose with --context`)
  }
  const part = partOf('cluster', name, fields['cluster'])
  const cluster = clusterOf(part)
  const user = textOf(fields['user'])
  return {
    ...cluster,
    credentials:
      user === undefined
        ? { get: () => Promise.resolve({}) }
        : credentialsOf(partOf('user', name, user), user, cluster),
    namespace: textOf(fields['namespace']) ?? 'default',
    name: `context "${oneLine(name)}"`,
  }
}

function clusterOf(part: KubeconfigPart): ExecCluster {
  const { fields, file } = part
  const invalid = (message: string): KubeError => configError(`kubeconfig: ${file}: ${message}`)
  const ca = fileOrData(part, 'certificate-authority')
  const insecure = fields['insecure-skip-tls-verify'] === true
  if (insecure && ca !== undefined) {
    throw invalid(
      'insecure-skip-tls-verify disables the check that certificate-authority is for; remove one of them',
    )
  }
  if (textOf(fields['proxy-url']) !== undefined) {
    throw invalid(
      'proxy-url is not supported; run kubectl proxy and use a context for it, or run squall where no proxy is needed',
    )
  }
  const text = textOf(fields['server'])
  const server = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  if (server === undefined || !/^https?:$/.test(server.protocol)) {
    throw invalid('the cluster has no server URL; add one')
  }
  if (server.username !== '' || server.password !== '') {
    throw invalid('the server URL contains a password; remove it')
  }
  const tls = { ca, insecure, servername: textOf(fields['tls-server-name']) }
  return { server, tls, extensions: fields['extensions'] }
}

const UNSUPPORTED = [
  ['auth-provider', 'use an exec plugin, as kubectl does since 1.26'],
  ['username', 'API servers no longer accept passwords; use a token or a certificate'],
  ['password', 'API servers no longer accept passwords; use a token or a certificate'],
  ['as', 'impersonation is not supported; use a context without it'],
] as const

function credentialsOf(part: KubeconfigPart, user: string, cluster: ExecCluster): CredentialSource {
  const { fields, directory, file } = part
  const where = `kubeconfig: ${file}: user "${oneLine(user)}"`
  const cert = fileOrData(part, 'client-certificate')
  const key = fileOrData(part, 'client-key')
  if ((cert === undefined) !== (key === undefined)) {
    throw configError(`${where} has only one of client-certificate and client-key`)
  }
  for (const [field, instead] of UNSUPPORTED) {
    if (fields[field] !== undefined) {
      throw configError(`${where}: ${field} is not supported; ${instead}`)
    }
  }
  if (isRecord(fields['exec'])) {
    const spec = readExecSpec(fields['exec'], directory, where)
    const isProvided = fields['exec']['provideClusterInfo'] === true
    return new ExecCredentials(spec, { cert, key }, isProvided ? cluster : undefined)
  }
  const tokenFile = textOf(fields['tokenFile'])
  if (tokenFile !== undefined) return new TokenFile(resolve(directory, tokenFile), { cert, key })
  const given = textOf(fields['token'])
  const token = given === undefined ? undefined : checkedToken(given, `${where}: token`)
  return { get: () => Promise.resolve({ token, cert, key }) }
}

/** Returns PEM from a file, or from the base64 beside it, which takes precedence. */
function fileOrData({ fields, directory, file }: KubeconfigPart, name: string): string | undefined {
  const data = textOf(fields[`${name}-data`])
  const path = textOf(fields[name])
  if (data === undefined && path === undefined) return undefined
  const text =
    data === undefined
      ? readKubeFile(resolve(directory, path!), name)
      : Buffer.from(data, 'base64').toString('utf8')
  if (text.includes('-----BEGIN ')) return text
  throw configError(`kubeconfig: ${file}: ${name} is not PEM; fix it`)
}

function nameList(parts: KubeconfigParts): string {
  const names = [...parts.keys()].slice(0, 20).map((name) => oneLine(name))
  return names.length === 0 ? 'none' : names.join(', ')
}
