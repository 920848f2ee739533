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
import { type Limits, pathOf, PODS } from './resources.ts'
import { type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http'
import { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { WebSocket } from 'undici'

/** A sidecar is asked once by each of the two ways. */
export const ASK_MS = PATIENCE_MS / 2

export interface AskOptions extends Limits {
  /** The read token, for a sidecar that asks for one. */
  readonly readToken?: string | undefined
}

type AskedPod = Pick<InjectedPod, 'namespace' | 'name' | 'adminPort'>

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
      throw new KubeError(code, `${error.message}; through port-forward: ${message}`, status)
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

/**
 * Asks through a forwarded port: kubelet connects inside of the pod, where network policies do not
 * apply and loopback is reached. Throws nothing but a `KubeError`, and the reason of an abort.
 */
async function askForwarded(
  client: KubeClient,
  pod: AskedPod,
  { method, path }: Endpoint,
  { readToken, signal: ended, timeoutMs = ASK_MS }: AskOptions,
): Promise<unknown> {
  const what = whatOf(pod)
  const limit = AbortSignal.timeout(timeoutMs)
  const signal = ended === undefined ? limit : AbortSignal.any([limit, ended])
  try {
    const stream = portStream(await openPort(client, pod, signal))
    const options = { method, path, headers: headersOf(readToken), port: pod.adminPort, signal }
    const { status, bytes } = await exchange(stream, options)
    const json = jsonOf(bytes)
    if (status === 200 && json !== undefined) return json
    throw responseError(what, status, bytes, client.name)
  } catch (error) {
    if (error instanceof KubeError) throw error
    ended?.throwIfAborted()
    const why = limit.aborted
      ? `no response through a forwarded port within ${timeoutMs / 1000} s`
      : `the forwarded port failed: ${(error as Error).message}`
    throw new KubeError(limit.aborted ? 'timeout' : 'unreachable', `cannot ${what}: ${why}`)
  }
}

function whatOf({ namespace, name }: AskedPod): string {
  return `query the sidecar of pod "${name}" in namespace "${namespace}"`
}

function headersOf(readToken: string | undefined): Readonly<Record<string, string>> {
  return {
    [CLIENT_HEADER]: 'kube',
    ...(readToken !== undefined && { [TOKEN_HEADER]: `Bearer ${readToken}` }),
  }
}

/** Names the protocol that all versions speak: one byte names the channel, data or error. */
const PROTOCOL = 'v4.channel.k8s.io'
const DATA = Buffer.from([0])
const FAILURE = 1
/** The first message of each channel repeats the number of the port. */
const PORT_BYTES = 2
/** With headers and frames beside the body. */
const MAX_SENT = MAX_BYTES + 64 * 1024

async function openPort(
  client: KubeClient,
  pod: AskedPod,
  signal: AbortSignal,
): Promise<WebSocket> {
  const { namespace, name, adminPort } = pod
  const what = whatOf(pod)
  const path = `${pathOf({ kind: PODS, namespace, name })}/portforward`
  const query = { ports: String(adminPort) }
  const socket = await client.openSocket({ path, query }, PROTOCOL, signal)
  if (socket !== undefined) return socket
  // A WebSocket has no reason for a rejection; the same request without an upgrade has.
  await client.request({ method: 'GET', path, query, what, signal })
  throw new KubeError('unreachable', `cannot ${what}: the API server did not open a WebSocket`)
}

function portStream(socket: WebSocket): Duplex {
  const begun = new Set<number>()
  let size = 0
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      socket.send(Buffer.concat([DATA, chunk]))
      done()
    },
    destroy: (error, done) => {
      socket.close()
      done(error)
    },
  })
  socket.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer)
    const channel = bytes[0] ?? FAILURE
    const content = bytes.subarray(begun.has(channel) ? 1 : 1 + PORT_BYTES)
    begun.add(channel)
    size += content.length
    if (size > MAX_SENT) stream.destroy(new Error(`it sent more than ${MAX_SENT} bytes`))
    else if (content.length > 0 && channel === FAILURE) {
      stream.destroy(new Error(content.toString('utf8')))
    } else if (content.length > 0) stream.push(content)
  })
  socket.addEventListener('error', () => stream.destroy(new Error('the WebSocket failed')))
  socket.addEventListener('close', () => stream.push(null))
  return stream
}

async function exchange(
  stream: Duplex,
  {
    headers,
    ...options
  }: Omit<RequestOptions, 'headers'> & { readonly headers: Readonly<Record<string, string>> },
): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      requestHttp({
        ...options,
        createConnection: () => stream,
        host: '127.0.0.1',
        headers: { ...headers, connection: 'close' },
      })
        .once('response', resolve)
        .once('error', reject)
        .end()
    })
    return { status: response.statusCode ?? 0, bytes: await buffer(response) }
  } finally {
    stream.destroy()
  }
}
