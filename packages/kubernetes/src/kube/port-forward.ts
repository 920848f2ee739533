import { request as requestHttp, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { WebSocket } from 'undici'
import type { KubeClient } from './kube-client.ts'
import { KubeError } from './kube-error.ts'
import { type Limits, pathOf, PODS } from './resources.ts'

/** A request to a port of a pod, without a body. */
export interface ForwardedRequest extends Required<Limits> {
  readonly pod: { readonly namespace: string; readonly name: string; readonly adminPort: number }
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
  readonly what: string
}

/** Names the protocol that all versions speak: one byte names the channel, data or error. */
const PROTOCOL = 'v4.channel.k8s.io'
const DATA = Buffer.from([0])
const FAILURE = 1
/** The first message of each channel repeats the number of the port. */
const PORT_BYTES = 2
/** Headers and frames beside the body. */
const OVERHEAD = 64 * 1024

/**
 * Sends a request to a port of a pod. Kubelet connects inside of the pod, where network policies do
 * not apply and loopback is reached. Throws nothing but a `KubeError`, and the reason of an abort.
 */
export async function requestForwarded(
  client: KubeClient,
  request: ForwardedRequest,
): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  const { timeoutMs, what } = request
  const limit = AbortSignal.timeout(timeoutMs)
  const signal = request.signal === undefined ? limit : AbortSignal.any([limit, request.signal])
  try {
    const socket = await openPort(client, request, signal)
    return await exchange(portStream(socket, request.maxBytes + OVERHEAD), request, signal)
  } catch (error) {
    if (error instanceof KubeError) throw error
    request.signal?.throwIfAborted()
    const why = limit.aborted
      ? `no response through a forwarded port within ${timeoutMs / 1000} s`
      : `the forwarded port failed: ${(error as Error).message}`
    throw new KubeError(limit.aborted ? 'timeout' : 'unreachable', `cannot ${what}: ${why}`)
  }
}

async function openPort(
  client: KubeClient,
  { pod: { namespace, name, adminPort }, what }: ForwardedRequest,
  signal: AbortSignal,
): Promise<WebSocket> {
  const path = `${pathOf({ kind: PODS, namespace, name })}/portforward`
  const query = { ports: String(adminPort) }
  const socket = await client.openSocket({ path, query }, PROTOCOL, signal)
  if (socket !== undefined) return socket
  // A WebSocket has no reason for a rejection; the same request without an upgrade has.
  await client.request({ method: 'GET', path, query, what, signal })
  throw new KubeError('unreachable', `cannot ${what}: the API server opened no WebSocket`)
}

function portStream(socket: WebSocket, maxBytes: number): Duplex {
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
    if (size > maxBytes) stream.destroy(new Error(`it sent more than ${maxBytes} bytes`))
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
  { method, path, headers, pod }: ForwardedRequest,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      requestHttp({
        createConnection: () => stream,
        host: '127.0.0.1',
        port: pod.adminPort,
        method,
        path,
        headers: { ...headers, connection: 'close' },
        signal,
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
