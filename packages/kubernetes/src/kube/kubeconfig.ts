import { existsSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { type Fields, fieldsOf, isRecord, listOf, oneLine, parsedJson, textOf } from '#base'
import { assertShallow, DeepYamlError } from './yaml-depth.ts'
import {
  checkedToken,
  type ClusterAccess,
  type CredentialSource,
  type Environment,
  readKubeFile,
  tokenFile,
  type Credentials,
} from './cluster-access.ts'
import { impersonationOf } from './impersonation.ts'
import { configError, KubeError } from './kube-error.ts'
import { parseProxy, proxyOf } from './proxy.ts'
import { spawn } from 'node:child_process'

/** A named part of a kubeconfig, and the directory that its relative paths start from. */
interface KubeconfigPart {
  readonly fields: Fields
  readonly directory: string
  readonly file: string
}

/** Returns the given file, else the files of KUBECONFIG, else the file in the home directory. */
export function kubeconfigPaths(given: string | undefined, env: Environment): readonly string[] {
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
    throw configError(`no kubeconfig found${looked}; set KUBECONFIG, or pass one with --kubeconfig`)
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
    throw configError(`kubeconfig: ${file} is not valid YAML${where}`)
  }
  if (document === null || document === undefined) return {}
  if (!isRecord(document)) throw configError(`kubeconfig: ${file} is not a valid kubeconfig`)
  return document
}

/**
 * Returns the access that a context of a kubeconfig gives; the current context when none is named.
 */
export function kubeconfigAccess(
  config: ReturnType<typeof readKubeconfig>,
  wanted: string | undefined,
  env: Environment,
): ClusterAccess {
  const { contexts, currentContext, files } = config
  const invalid = (message: string): KubeError =>
    configError(`kubeconfig ${files.join(', ')}: ${message}`)
  const name = wanted ?? currentContext
  const among = `; available: ${nameList(contexts)}`
  if (name === undefined)
    throw invalid(`no current-context is set${among}; choose one with --context`)
  const fields = contexts.get(name)?.fields
  if (fields === undefined) {
    throw invalid(`context "${oneLine(name)}" does not exist${among}; choose one with --context`)
  }
  const partOf = (kind: 'cluster' | 'user'): KubeconfigPart => {
    const given = fields[kind]
    const part = typeof given === 'string' ? config[`${kind}s`].get(given) : undefined
    if (part !== undefined) return part
    const which = typeof given === 'string' ? `"${oneLine(given)}", which does not exist` : 'none'
    throw invalid(`context "${oneLine(name)}" refers to the ${kind} ${which}; fix it`)
  }
  const cluster = clusterOf(partOf('cluster'))
  const user = textOf(fields['user'])
  const userPart = user === undefined ? undefined : partOf('user')
  return {
    ...cluster,
    proxy: cluster.proxy ?? proxyOf(cluster.server, env),
    credentials:
      user === undefined || userPart === undefined
        ? () => Promise.resolve({})
        : credentialsOf(userPart, user, cluster),
    impersonation: userPart && impersonationOf(userPart.fields),
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
  const text = textOf(fields['server'])
  const server = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  if (server === undefined || !/^https?:$/.test(server.protocol)) {
    throw invalid('the cluster must set an http or https server URL')
  }
  if (server.username !== '' || server.password !== '') {
    throw invalid('the server URL contains a password; remove it')
  }
  const tls = { ca, insecure, servername: textOf(fields['tls-server-name']) }
  const given = textOf(fields['proxy-url'])
  const proxy =
    given === undefined ? undefined : parseProxy(given, `kubeconfig: ${file}: proxy-url`)
  return { server, tls, proxy, extensions: fields['extensions'] }
}

const UNSUPPORTED = [
  ['auth-provider', 'use an exec plugin, as kubectl does since 1.26'],
  ['username', 'API servers no longer accept passwords; use a token or a certificate'],
  ['password', 'API servers no longer accept passwords; use a token or a certificate'],
] as const

function credentialsOf(part: KubeconfigPart, user: string, cluster: ExecCluster): CredentialSource {
  const { fields, directory, file } = part
  const where = `kubeconfig: ${file}: user "${oneLine(user)}"`
  const cert = fileOrData(part, 'client-certificate')
  const key = fileOrData(part, 'client-key')
  if ((cert === undefined) !== (key === undefined)) {
    throw configError(`${where} must set both client-certificate and client-key`)
  }
  for (const [field, instead] of UNSUPPORTED) {
    if (fields[field] !== undefined) {
      throw configError(`${where}: ${field} is not supported; ${instead}`)
    }
  }
  if (isRecord(fields['exec'])) {
    const spec = readExecSpec(fields['exec'], directory, where)
    const isProvided = fields['exec']['provideClusterInfo'] === true
    return execCredentials(spec, { cert, key }, isProvided ? cluster : undefined)
  }
  const path = textOf(fields['tokenFile'])
  if (path !== undefined) return tokenFile(resolve(directory, path), { cert, key })
  const given = textOf(fields['token'])
  const token = given === undefined ? undefined : checkedToken(given, `${where}: token`)
  return () => Promise.resolve({ token, cert, key })
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
  throw configError(`kubeconfig: ${file}: ${name} must be PEM-encoded`)
}

function nameList(parts: ReadonlyMap<string, KubeconfigPart>): string {
  const names = [...parts.keys()].slice(0, 20).map((name) => oneLine(name))
  return names.length === 0 ? 'none' : names.join(', ')
}

type ExecSpec = ReturnType<typeof readExecSpec>

/** Describes the cluster to programs that ask for it. */
interface ExecCluster extends Pick<ClusterAccess, 'server' | 'tls' | 'proxy'> {
  readonly extensions: unknown
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 1024 * 1024
const DRAIN_MS = 1_000
/** Credentials that expire within this time are renewed. */
const MARGIN_MS = 10_000

/** Returns the program that prints credentials, as a kubeconfig describes it in `where`. */
function readExecSpec(fields: Fields, directory: string, where: string) {
  const command = textOf(fields['command'])
  const apiVersion = textOf(fields['apiVersion'])
  if (command === undefined) throw configError(`${where}: exec.command is required`)
  if (apiVersion === undefined || !VERSIONS.includes(apiVersion)) {
    throw configError(`${where}: exec.apiVersion must be one of ${VERSIONS.join(', ')}`)
  }
  const { args } = fields
  return {
    // A bare name is looked up in PATH; any other is relative to the kubeconfig.
    command: /[/\\]/.test(command) ? resolve(directory, command) : command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: Object.fromEntries(
      listOf(fields['env']).map(({ name, value }) => [String(name), textOf(value) ?? '']),
    ),
    apiVersion,
    hint: textOf(fields['installHint']),
    interactive: fields['interactiveMode'] !== 'Never' && (process.stdin.isTTY ?? false),
    where,
  }
}

/** Keeps the credentials of a program until they expire or are rejected. */
function execCredentials(
  spec: ExecSpec,
  more: Credentials,
  cluster: ExecCluster | undefined,
): CredentialSource {
  let known: ReturnType<typeof readResponse> | undefined
  let asking: Promise<Credentials> | undefined
  const ask = async (): Promise<Credentials> => {
    const { credentials, until } = readResponse(await run(spec, cluster), spec)
    known = { credentials: { ...more, ...credentials }, until }
    return known.credentials
  }
  return async (rejected) => {
    if (!rejected && known !== undefined && known.until - MARGIN_MS > Date.now()) {
      return known.credentials
    }
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }
}

/** Runs the program. Its output holds secrets, so no message quotes it. */
function run(spec: ExecSpec, cluster: ExecCluster | undefined): Promise<string> {
  const info = {
    kind: 'ExecCredential',
    apiVersion: spec.apiVersion,
    spec: { interactive: spec.interactive, ...(cluster && { cluster: clusterInfo(cluster) }) },
  }
  return new Promise((done, fail) => {
    const failed = (what: string): void => {
      const hint = spec.hint === undefined ? '' : `; ${oneLine(spec.hint)}`
      fail(new KubeError('unauthorized', `${spec.where}: ${oneLine(spec.command)} ${what}${hint}`))
    }
    const child = spawn(spec.command, spec.args, {
      env: { ...process.env, ...spec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      // The program may write to the user's terminal.
      stdio: [spec.interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    const chunks: Buffer[] = []
    let size = 0
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_OUTPUT) child.kill('SIGKILL')
    })
    child.once('error', ({ code }: NodeJS.ErrnoException) => {
      failed(code === 'ENOENT' ? 'is not installed' : `cannot be run (${code ?? 'error'})`)
    })
    child.once('exit', (code) => {
      // Programs that it started may hold its output open; all that it wrote is read by then.
      const drained = setTimeout(() => child.stdout.destroy(), code === null ? 0 : DRAIN_MS)
      child.once('close', () => clearTimeout(drained))
    })
    child.once('close', (code, signal) => {
      const end = code === null ? `was killed by ${signal}` : `exited with code ${code}`
      if (size > MAX_OUTPUT) failed('printed more than 1 MiB')
      else if (code === 0) done(Buffer.concat(chunks).toString('utf8'))
      else if (child.killed) failed('timed out after 60 seconds; run the command by hand to log in')
      else failed(`${end}; run the command by hand to see why`)
    })
  })
}

function clusterInfo({ server, tls, proxy, extensions }: ExecCluster): object {
  const own = listOf(extensions).find(({ name }) => name === 'client.authentication.k8s.io/exec')
  return {
    server: server.href,
    'insecure-skip-tls-verify': tls.insecure,
    ...(proxy !== undefined && { 'proxy-url': proxy.href }),
    ...(tls.servername !== undefined && { 'tls-server-name': tls.servername }),
    ...(tls.ca !== undefined && {
      'certificate-authority-data': Buffer.from(tls.ca).toString('base64'),
    }),
    config: own?.['extension'] ?? null,
  }
}

function readResponse(
  text: string,
  spec: ExecSpec,
): { readonly credentials: Credentials; readonly until: number } {
  const wrong = (what: string): KubeError =>
    new KubeError('unauthorized', `${spec.where}: ${oneLine(spec.command)} printed ${what}`)
  const json = parsedJson(text)
  if (json === undefined) throw wrong('no JSON')
  const response = fieldsOf(json)
  if (response['kind'] !== 'ExecCredential') throw wrong('no ExecCredential')
  if (response['apiVersion'] !== spec.apiVersion)
    throw wrong(`another apiVersion than ${spec.apiVersion}`)
  const status = fieldsOf(response['status'])
  const token = textOf(status['token'])
  const cert = textOf(status['clientCertificateData'])
  const key = textOf(status['clientKeyData'])
  if ((cert === undefined) !== (key === undefined))
    throw wrong('a client certificate without its key, or a key without its certificate')
  if (token === undefined && cert === undefined) throw wrong('neither a token nor a certificate')
  const expires = textOf(status['expirationTimestamp'])
  const until = expires === undefined ? Infinity : Date.parse(expires)
  if (Number.isNaN(until)) throw wrong('an invalid expirationTimestamp')
  return {
    credentials: {
      ...(token !== undefined && { token: checkedToken(token, spec.where) }),
      ...(cert !== undefined && { cert, key }),
    },
    until,
  }
}
