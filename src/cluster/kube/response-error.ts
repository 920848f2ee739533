import { fieldsOf, textOf } from '../../base/values.ts'
import { oneLine } from '../../base/text/foreign-text.ts'
import { KubeError, type KubeErrorCode } from './kube-error.ts'

const CODES: Readonly<Record<number, KubeErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  413: 'too_large',
  422: 'invalid',
  429: 'too_many_requests',
}

const READ_TOKEN = 'use --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN'

/** Explains an error response, with the next step. */
export function responseError(
  what: string,
  status: number,
  json: unknown,
  bytes: Buffer,
  cluster: string,
): KubeError {
  const fields = fieldsOf(json)
  const message = textOf(fields['message'])
  const said = oneLine(
    message ?? textOf(fields['error']) ?? bytes.subarray(0, 300).toString('utf8'),
  )
  if (status === 401 && fields['kind'] !== 'Status' && message === undefined && said !== '') {
    // Passed on from a sidecar: other credentials for the cluster would change nothing.
    return new KubeError('unauthorized', `cannot ${what}: ${said}; ${READ_TOKEN}`)
  }
  const code =
    status === 409
      ? fields['reason'] === 'AlreadyExists'
        ? 'exists'
        : 'conflict'
      : (CODES[status] ?? 'response')
  return new KubeError(code, `cannot ${what}: ${meaning(code, status, said, cluster)}`, status)
}

function meaning(code: KubeErrorCode, status: number, said: string, cluster: string): string {
  const responded = said === '' ? `the API server answers ${status}` : said
  switch (code) {
    case 'unauthorized':
      return `the API server does not accept the credentials of ${cluster}; log in again`
    case 'forbidden':
      return said.startsWith('admission webhook') ? said : `${responded}; ${missingRight(said)}`
    case 'not_found':
      return said === '' ? 'there is no such thing' : said
    case 'conflict':
      return `${responded}; somebody else changed it at the same time, try again`
    case 'too_many_requests':
      return `${responded}; the API server is busy, try again later`
    case 'config':
    case 'exists':
    case 'invalid':
    case 'unreachable':
    case 'timeout':
    case 'too_large':
    case 'response':
    default:
      return responded
  }
}

/** The right that is missing, as a rule of a Role has it; the API server names all its parts. */
function missingRight(said: string): string {
  const match =
    /User "([^"]*)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?/.exec(
      said,
    )
  if (match === null) return 'ask whoever runs the cluster for the right to do it'
  const [, user, verb, resource, group, namespace] = match
  const kind = namespace === undefined ? 'ClusterRole' : `Role in "${namespace}"`
  return `give ${user} a ${kind} with apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]`
}
