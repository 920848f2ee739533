import { API, type Endpoint, type ResponseOf, type Rule, type State } from '../../admin/api.ts'
import { AdminError, checkResponse, MAX_BYTES } from '../../admin/api-client.ts'
import { CLIENT_HEADER, TOKEN_HEADER } from '../../http/trusted-host.ts'
import type { InjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { KubeError } from './kube-error.ts'
import { type Limits, pathOf, PODS } from './resources.ts'

/** How a sidecar is asked. */
export interface AskOptions extends Limits {
  /** The read token, for a sidecar that asks for one. */
  readonly readToken?: string | undefined
}

/** Where a sidecar is asked. */
export type AskedPod = Pick<InjectedPod, 'namespace' | 'name' | 'adminPort'>

/** Asks a sidecar for its state, through the API server. */
export function sidecarState(
  client: KubeClient,
  pod: AskedPod,
  limits: AskOptions,
): Promise<State> {
  return ask(client, pod, API.state, limits)
}

/** Asks a sidecar for its rules. */
export async function sidecarRules(
  client: KubeClient,
  pod: AskedPod,
  limits: AskOptions,
): Promise<readonly Rule[]> {
  return (await ask(client, pod, API.rules, limits)).rules
}

async function ask<E extends Endpoint>(
  client: KubeClient,
  { namespace, name, adminPort }: AskedPod,
  endpoint: E,
  { readToken, ...limits }: AskOptions,
): Promise<ResponseOf<E>> {
  const proxy = pathOf({ kind: PODS, namespace, name: `${name}:${adminPort}` })
    // The colon stands for itself here.
    .replace('%3A', ':')
  const what = `ask the sidecar of pod "${name}" in namespace "${namespace}"`
  const value = await client.request({
    method: endpoint.method,
    path: `${proxy}/proxy${endpoint.path}`,
    what,
    maxBytes: MAX_BYTES,
    headers: {
      [CLIENT_HEADER]: 'kube',
      ...(readToken !== undefined && { [TOKEN_HEADER]: `Bearer ${readToken}` }),
    },
    ...limits,
  })
  try {
    return checkResponse(endpoint, value)
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    throw new KubeError('response', `cannot ${what}: ${error.message}`)
  }
}
