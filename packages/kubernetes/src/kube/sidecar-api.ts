import {
  AdminError,
  checkResponse,
  type Endpoint,
  MAX_BYTES,
  PATIENCE_MS,
  type ResponseOf,
} from '#admin-api'
import { CLIENT_HEADER, TOKEN_HEADER } from '#protocol'
import type { InjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError, isKubeError, jsonOf, KubeError, responseError } from './kube-error.ts'
import { requestForwarded } from './port-forward.ts'
import { type Limits, pathOf, PODS } from './resources.ts'

/** A sidecar is asked once by each of the two ways. */
export const ASK_MS = PATIENCE_MS / 2

export interface AskOptions extends Limits {
  /** The read token, for a sidecar that asks for one. */
  readonly readToken?: string | undefined
}

export type AskedPod = Pick<InjectedPod, 'namespace' | 'name' | 'adminPort'>

/** Pods that respond through a forwarded port, and not through the API server's proxy. */
const FORWARDED = new WeakSet<AskedPod>()

/**
 * Asks a sidecar through the API server's proxy, or, where that cannot reach the pod or the right
 * is missing, through a forwarded port.
 */
export async function askSidecar<E extends Endpoint>(
  client: KubeClient,
  pod: AskedPod,
  endpoint: E,
  options: AskOptions,
): Promise<ResponseOf<E>> {
  const value = await (FORWARDED.has(pod)
    ? askForwarded(client, pod, endpoint, options)
    : askWithFallback(client, pod, endpoint, options))
  try {
    return checkResponse(endpoint, value)
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    throw new KubeError('response', `cannot ${whatOf(pod)}: ${error.message}`)
  }
}

async function askWithFallback(
  client: KubeClient,
  pod: AskedPod,
  endpoint: Endpoint,
  options: AskOptions,
): Promise<unknown> {
  try {
    return await askProxied(client, pod, endpoint, options)
  } catch (error) {
    if (!(error instanceof KubeError) || !isProxyFailure(error)) throw error
    const value = await askForwarded(client, pod, endpoint, options).catch((other: unknown) => {
      const { message } = asKubeError(other)
      // Where ports cannot be forwarded at all, the proxy's failure decides whether to ask again.
      const isImpossible = isKubeError(other, 'forbidden', 'not_found')
      const { code, status } = isImpossible ? error : asKubeError(other)
      throw new KubeError(code, `${error.message}; by port-forward: ${message}`, status)
    })
    FORWARDED.add(pod)
    return value
  }
}

/** Returns whether the proxy failed, and not the sidecar. */
function isProxyFailure({ code, status }: KubeError): boolean {
  return code === 'forbidden' || code === 'timeout' || (status !== undefined && status >= 500)
}

function askProxied(
  client: KubeClient,
  pod: AskedPod,
  { method, path }: Endpoint,
  { readToken, timeoutMs = ASK_MS, ...limits }: AskOptions,
): Promise<unknown> {
  const { namespace, name, adminPort } = pod
  const proxy = pathOf({ kind: PODS, namespace, name: `${name}:${adminPort}` })
    // The API server wants an unescaped colon here.
    .replace('%3A', ':')
  return client.request({
    method,
    path: `${proxy}/proxy${path}`,
    what: whatOf(pod),
    maxBytes: MAX_BYTES,
    headers: headersOf(readToken),
    timeoutMs,
    mayRepeat: false,
    ...limits,
  })
}

async function askForwarded(
  client: KubeClient,
  pod: AskedPod,
  { method, path }: Endpoint,
  { readToken, signal, timeoutMs = ASK_MS }: AskOptions,
): Promise<unknown> {
  const what = whatOf(pod)
  const headers = headersOf(readToken)
  const request = { pod, method, path, headers, what, signal, timeoutMs, maxBytes: MAX_BYTES }
  const { status, bytes } = await requestForwarded(client, request)
  const json = jsonOf(bytes)
  if (status === 200 && json !== undefined) return json
  throw responseError(what, status, json, bytes, client.name)
}

function whatOf({ namespace, name }: AskedPod): string {
  return `ask the sidecar of pod "${name}" in namespace "${namespace}"`
}

function headersOf(readToken: string | undefined): Readonly<Record<string, string>> {
  return {
    [CLIENT_HEADER]: 'kube',
    ...(readToken !== undefined && { [TOKEN_HEADER]: `Bearer ${readToken}` }),
  }
}
