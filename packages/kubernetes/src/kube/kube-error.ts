import { fieldsOf, oneLine, parsedJson, textOf } from '#base'

type KubeErrorCode =
  /** The kubeconfig or the service account cannot be used. */
  | 'config'
  /** There are no credentials, or the API server rejected them. */
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'exists'
  | 'conflict'
  | 'invalid'
  | 'too_many_requests'
  /** No connection, or none that can be trusted. */
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  /** Any other response without success. */
  | 'response'
  /** The change would undo what another person has written. */
  | 'not_permitted'

/** Reports a failed request to the API server, with the next step. */
export class KubeError extends Error {
  override readonly name = 'KubeError'
  readonly code: KubeErrorCode
  /** The HTTP status, where there was a response. */
  readonly status: number | undefined
  /** The wait that the response asked for. */
  retryAfterMs: number | undefined

  constructor(code: KubeErrorCode, message: string, status?: number) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** Returns a `KubeError` as it is, and throws every other error again. */
export function asKubeError(error: unknown): KubeError {
  if (error instanceof KubeError) return error
  throw error
}

/** Makes the error of a kubeconfig or service account that cannot be used. */
export function configError(message: string): KubeError {
  return new KubeError('config', message)
}

export function isKubeError(
  error: unknown,
  ...codes: readonly [KubeErrorCode, ...KubeErrorCode[]]
): error is KubeError {
  return error instanceof KubeError && codes.includes(error.code)
}

/** Returns true for an error that the same request would meet again. */
export function isHopeless(error: KubeError): boolean {
  return isKubeError(error, 'forbidden', 'unauthorized', 'invalid', 'too_large', 'not_permitted')
}

const ATTEMPTS = 8

/** Runs an action again while another client changes or creates the object in between. */
export async function retryConflicts<Result>(action: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action()
    } catch (error) {
      if (attempt === ATTEMPTS || !isKubeError(error, 'conflict', 'exists')) throw error
    }
  }
}

const CODES: Readonly<Record<number, KubeErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'too_large',
  422: 'invalid',
  429: 'too_many_requests',
}

const READ_TOKEN = 'use --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN'

/** Explains an error response, with the next step. */
export function responseError(
  what: string,
  status: number,
  bytes: Buffer,
  cluster: string,
): KubeError {
  const fields = fieldsOf(jsonOf(bytes))
  const message = textOf(fields['message'])
  const detail = oneLine(
    message ?? textOf(fields['error']) ?? bytes.subarray(0, 300).toString('utf8'),
  )
  if (status === 401 && fields['kind'] !== 'Status' && message === undefined && detail !== '') {
    // The response of a sidecar: other credentials for the cluster would change nothing.
    return new KubeError('unauthorized', `cannot ${what}: ${detail}; ${READ_TOKEN}`)
  }
  const isTaken = status === 409 && fields['reason'] === 'AlreadyExists'
  const code = isTaken ? 'exists' : (CODES[status] ?? 'response')
  return new KubeError(code, `cannot ${what}: ${meaning(code, status, detail, cluster)}`, status)
}

/** The API server keeps `immutable`, and the kubelet caches the data for its pods. */
export const CREATE_ANEW =
  'delete the ConfigMap and the pods that read it, and create it anew without immutable'

function meaning(code: KubeErrorCode, status: number, detail: string, cluster: string): string {
  const responded = detail === '' ? `the API server responded with status ${status}` : detail
  if (code === 'unauthorized') {
    return `the API server rejected the credentials of ${cluster}; log in again`
  }
  // Policies, Pod Security and terminating namespaces respond with 403, too.
  if (code === 'forbidden' && /^$|\bUser "[^"]*" cannot /.test(detail)) {
    return `${responded}; ${missingRight(detail)}`
  }
  if (code === 'conflict') {
    return `${responded}; the object was modified concurrently; try again`
  }
  if (code === 'invalid' && detail.includes('`immutable` is set')) {
    return `${responded}; ${CREATE_ANEW}`
  }
  if (code === 'too_many_requests') return `${responded}; the API server is busy, try again later`
  return code === 'not_found' && detail === '' ? 'not found' : responded
}

/** Returns the missing right as a rule of a Role; the API server names all its parts. */
function missingRight(detail: string): string {
  const match =
    /User "([^"]*)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?/.exec(
      detail,
    )
  if (match === null) return 'ask the administrator of the cluster for the permission'
  const [, user, verb, resource, group, namespace] = match
  const kind = namespace === undefined ? 'ClusterRole' : `Role in "${namespace}"`
  return `give ${user} a ${kind} with apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]`
}

/** Parses JSON; undefined where it is none. */
export function jsonOf(bytes: Buffer): unknown {
  return parsedJson(bytes.toString('utf8'))
}

/** The codes of errors of connections, and their meaning. */
const PROBLEMS = [
  [
    /^(?:DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_SIGNATURE)_/,
    "the certificate of HOST is not signed by the cluster's certificate-authority; check that the kubeconfig belongs to this cluster",
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    'the certificate of HOST has expired; check the clocks, or renew the certificate',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'the certificate of HOST is for other names; set tls-server-name for the cluster',
  ],
  [/^ECONNREFUSED$/, 'nothing listens at HOST; check the URL, and that the server is running'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'the name NAME cannot be resolved; check the URL and the network'],
  [
    /^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    'HOST cannot be reached; check the network, a VPN or a firewall',
  ],
] as const

/** Explains why there was no response, and what to do about it. */
export function connectionProblem(
  { code = '', message }: NodeJS.ErrnoException,
  server: URL,
  proxy = server,
): string {
  const [, problem] = PROBLEMS.find(([codes]) => codes.test(code)) ?? []
  // Through a proxy, the first problem with the server is its certificate.
  const { host, hostname } = problem?.includes('certificate') ? server : proxy
  return (
    problem?.replace('HOST', host).replace('NAME', hostname) ??
    `${oneLine(message)}${code === '' ? '' : ` (${code})`}`
  )
}
