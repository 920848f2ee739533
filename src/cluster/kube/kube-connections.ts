import { Pool, WebSocket } from 'undici'
import { oneLine } from '../../base/text/foreign-text.ts'
import type { ClusterAccess, Credentials } from './cluster-access.ts'
import { KubeError } from './kube-error.ts'

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  readonly maxBytes: number
  readonly what: string
}

/** A WebSocket as it is asked for. */
export interface WireSocket {
  readonly path: string
  readonly protocol: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

const CONNECTIONS = 8
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 20_000

/** Connections to one API server; new ones when the client certificate changes. */
export class KubeConnections {
  readonly #access: ClusterAccess
  #pool: Pool | undefined
  #shown: string | undefined

  constructor(access: ClusterAccess) {
    this.#access = access
  }

  /** Sends it and reads the whole response, unless that is too large. */
  async send(
    credentials: Credentials,
    request: WireRequest,
  ): Promise<{ readonly statusCode: number; readonly bytes: Buffer; readonly date: unknown }> {
    const { method, path, headers, body, signal, maxBytes, what } = request
    const {
      statusCode,
      headers: own,
      body: response,
    } = await this.#poolFor(credentials).request({
      method,
      path,
      headers,
      body: body ?? null,
      signal,
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) {
        throw new KubeError(
          'too_large',
          `cannot ${what}: the response has more than ${maxBytes} bytes`,
        )
      }
      chunks.push(chunk)
    }
    return { statusCode, bytes: Buffer.concat(chunks), date: own['date'] }
  }

  /** Opens a WebSocket; undefined when it is refused, for whatever reason. */
  async openSocket(
    credentials: Credentials,
    { path, protocol, headers, signal }: WireSocket,
  ): Promise<WebSocket | undefined> {
    signal.throwIfAborted()
    const url = new URL(path, this.#access.server)
    url.protocol = url.protocol.replace('http', 'ws')
    const dispatcher = this.#poolFor(credentials)
    const socket = new WebSocket(url, { protocols: protocol, headers, dispatcher })
    socket.binaryType = 'arraybuffer'
    const refuse = (): void => socket.close()
    signal.addEventListener('abort', refuse, { once: true })
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.addEventListener('open', () => resolve(true))
      socket.addEventListener('close', () => resolve(false))
      socket.addEventListener('error', () => resolve(false))
    })
    signal.removeEventListener('abort', refuse)
    signal.throwIfAborted()
    return isOpen ? socket : undefined
  }

  /** Why there was no response, and what to do about it. */
  failure(what: string, error: unknown): KubeError {
    const { server, name } = this.#access
    const { code, message } = error as NodeJS.ErrnoException
    const why = explain(code ?? '', oneLine(message), server)
    return new KubeError('unreachable', `cannot ${what} (${name}): ${why}`)
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }

  #poolFor({ cert, key }: Credentials): Pool {
    const shown = `${cert ?? ''}${key ?? ''}`
    if (this.#pool !== undefined && this.#shown === shown) return this.#pool
    // Requests in flight on the old connections may end there.
    void this.#pool?.close().catch(() => undefined)
    const { server, tls } = this.#access
    this.#shown = shown
    this.#pool = new Pool(server.origin, {
      connections: CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        rejectUnauthorized: !tls.insecure,
        ...(tls.ca !== undefined && { ca: tls.ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        ...(tls.servername !== undefined && { servername: tls.servername }),
      },
    })
    return this.#pool
  }
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
])

function explain(code: string, message: string, { host, hostname }: URL): string {
  if (UNTRUSTED.has(code)) {
    return `the certificate of ${host} is not signed by the cluster's certificate-authority; check that the kubeconfig belongs to this cluster`
  }
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return `the certificate of ${host} has expired; check the clocks, or renew it`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of ${host} is for other names; set tls-server-name for the cluster`
    case 'ECONNREFUSED':
      return `nothing listens at ${host}; is the cluster running?`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${hostname} is not known; check the server URL and the network`
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${host} cannot be reached; check the network, a VPN or a firewall`
    default:
      return `${message}${code === '' ? '' : ` (${code})`}`
  }
}
