import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { type Fields, fieldsOf, listOf, oneLine, textOf } from '#base'
import {
  checkedToken,
  type ClusterAccess,
  configError,
  type Credentials,
  type CredentialSource,
} from './cluster-access.ts'
import { KubeError } from './kube-error.ts'

type ExecSpec = ReturnType<typeof readExecSpec>

/** Describes the cluster to programs that ask for it. */
export interface ExecCluster extends Pick<ClusterAccess, 'server' | 'tls'> {
  readonly extensions: unknown
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 1024 * 1024
/** Credentials that expire within this time are renewed. */
const MARGIN_MS = 10_000

/** Returns the program that prints credentials, as a kubeconfig describes it in `where`. */
export function readExecSpec(fields: Fields, directory: string, where: string) {
  const command = textOf(fields['command'])
  const apiVersion = textOf(fields['apiVersion'])
  if (command === undefined) throw configError(`${where}: exec has no command`)
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
export class ExecCredentials implements CredentialSource {
  readonly #spec: ExecSpec
  readonly #more: Credentials
  readonly #cluster: ExecCluster | undefined
  #known: { readonly credentials: Credentials; readonly until: number } | undefined
  #asking: Promise<Credentials> | undefined

  constructor(spec: ExecSpec, more: Credentials, cluster: ExecCluster | undefined) {
    this.#spec = spec
    this.#more = more
    this.#cluster = cluster
  }

  get(rejected: boolean): Promise<Credentials> {
    const known = this.#known
    if (!rejected && known !== undefined && known.until - MARGIN_MS > Date.now()) {
      return Promise.resolve(known.credentials)
    }
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<Credentials> {
    const { credentials, until } = readResponse(await run(this.#spec, this.#cluster), this.#spec)
    this.#known = { credentials: { ...this.#more, ...credentials }, until }
    return this.#known.credentials
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
    child.once('close', (code, signal) => {
      if (size > MAX_OUTPUT) failed('printed more than 1 MiB')
      else if (code === 0) done(Buffer.concat(chunks).toString('utf8'))
      else if (code === null) failed(`was killed (${signal}) after the limit of 60 seconds`)
      else failed(`ended with code ${code}; run it by hand to see why`)
    })
  })
}

function clusterInfo({ server, tls, extensions }: ExecCluster): object {
  const own = listOf(extensions).find(({ name }) => name === 'client.authentication.k8s.io/exec')
  return {
    server: server.href,
    'insecure-skip-tls-verify': tls.insecure,
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
  let response: Fields
  try {
    response = fieldsOf(JSON.parse(text))
  } catch {
    throw wrong('no JSON')
  }
  if (response['kind'] !== 'ExecCredential') throw wrong('no ExecCredential')
  if (response['apiVersion'] !== spec.apiVersion)
    throw wrong(`another apiVersion than ${spec.apiVersion}`)
  const status = fieldsOf(response['status'])
  const token = textOf(status['token'])
  const cert = textOf(status['clientCertificateData'])
  const key = textOf(status['clientKeyData'])
  if ((cert === undefined) !== (key === undefined)) throw wrong('only half of a client certificate')
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
