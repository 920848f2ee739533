import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, Pool, ProxyAgent, WebSocket } from 'undici'
import { fieldsOf, readUpTo } from '#base'
import { clockAhead, retryAfterOf } from '#protocol'
import type { ClusterAccess, Credentials } from './cluster-access.ts'
import type { Impersonation } from './impersonation.ts'
import { connectionProblem, jsonOf, KubeError, responseError } from './kube-error.ts'
import { socksConnector } from './socks-connector.ts'

export type PatchType = 'merge' | 'strategic-merge'

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Begins with `/api` or `/apis`; every part of it is encoded already. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly patch?: PatchType
  /** Further headers, which the API server passes on to a pod. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** False for a request that its caller repeats, true for one that changes nothing. */
  readonly mayRepeat?: boolean
  /** The operation, for messages: `read configmaps "rules" in namespace "shop"`. */
  readonly what: string
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 32 * 1024 * 1024
const CONNECTIONS = 16
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 20_000
/** The pauses before a request is repeated; each is shorter by up to half. */
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 2_000
/** The time of a request that begins when the patience is over. */
const LAST_MS = 1_000

/** Sends requests to one API server; nothing is connected before the first request. */
export class KubeConnection {
  /** The namespace of requests that name none. */
  readonly namespace: string
  /** The name of the cluster in messages. */
  readonly name: string
  readonly #access: ClusterAccess
  readonly #userAgent: string
  #pool: Dispatcher | undefined
  #certificate: string | undefined
  #aheadMs = 0
  /** The time until which requests are repeated, by `performance.now()`; 0 repeats none. */
  readonly #until: number

  /** Repeats requests that an API server did not serve for `patienceMs` from now. */
  constructor(access: ClusterAccess, userAgent: string, patienceMs = 0) {
    this.#until = patienceMs > 0 ? performance.now() + patienceMs : 0
    this.namespace = access.namespace
    this.name = access.name
    this.#access = access
    this.#userAgent = userAgent
  }

  /** Returns the JSON of the response. Throws only a `KubeError`, or the reason of an abort. */
  async request(request: KubeRequest): Promise<unknown> {
    const json = jsonOf(await this.#bytes(request, 'application/json'))
    if (json !== undefined) return json
    const why = `the response of ${this.name} is not valid JSON`
    throw new KubeError('response', `cannot ${request.what}: ${why}`)
  }

  /** Returns the text of the response, such as the log of a container. Throws as `request` does. */
  async text(request: KubeRequest): Promise<string> {
    return (await this.#bytes(request, '*/*')).toString('utf8')
  }

  /** Opens a WebSocket; undefined when the API server rejects it, for whatever reason. */
  async openSocket(
    request: Pick<KubeRequest, 'path' | 'query'>,
    protocol: string,
    signal: AbortSignal,
  ): Promise<WebSocket | undefined> {
    const credentials = await this.#access.credentials(false)
    signal.throwIfAborted()
    const url = new URL(this.#pathOf(request), this.#access.server)
    url.protocol = url.protocol.replace('http', 'ws')
    const headers = this.#headersFor(credentials)
    const dispatcher = this.#poolFor(credentials)
    const socket = new WebSocket(url, { protocols: protocol, headers, dispatcher })
    socket.binaryType = 'arraybuffer'
    const close = (): void => socket.close()
    signal.addEventListener('abort', close, { once: true })
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.addEventListener('open', () => resolve(true))
      socket.addEventListener('close', () => resolve(false))
      socket.addEventListener('error', () => resolve(false))
    })
    signal.removeEventListener('abort', close)
    signal.throwIfAborted()
    return isOpen ? socket : undefined
  }

  /** The milliseconds by which the clock of the API server is ahead; a proxied Date is of a pod. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  /** Returns the time of the API server; until its first response the time of this machine. */
  now(): number {
    return Date.now() + this.#aheadMs
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }

  /** Repeats the request while the patience lasts. */
  async #bytes(request: KubeRequest, accept: string): Promise<Buffer> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        return await this.#authorized(request, accept)
      } catch (error) {
        const left = this.#until - performance.now()
        if (left <= 0 || !mayRepeat(request, error)) throw error
        // A request at the very end may find the API server again.
        const wait = Math.min(error.retryAfterMs ?? pauseMs * (0.5 + Math.random() / 2), left)
        await sleep(wait, undefined, { signal: request.signal }).catch(() => undefined)
        request.signal?.throwIfAborted()
      }
    }
  }

  async #authorized(request: KubeRequest, accept: string): Promise<Buffer> {
    const { credentials } = this.#access
    try {
      return await this.#send(request, accept, await credentials(false))
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 401) throw error
      // Some credentials expire without saying when.
      return this.#send(request, accept, await credentials(true))
    }
  }

  async #send(request: KubeRequest, accept: string, credentials: Credentials): Promise<Buffer> {
    const { method, body, patch, maxBytes = MAX_BYTES, what } = request
    const timeoutMs = Math.ceil(this.#within(request.timeoutMs ?? TIMEOUT_MS))
    const { server, name } = this.#access
    const type = patch === undefined ? 'application/json' : `application/${patch}-patch+json`
    const sentAt = Date.now()
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = request.signal === undefined ? limit : AbortSignal.any([limit, request.signal])
    try {
      const response = await this.#poolFor(credentials).request({
        origin: server.origin,
        method,
        path: this.#pathOf(request),
        headers: {
          ...request.headers,
          accept,
          ...this.#headersFor(credentials),
          ...(body !== undefined && { 'content-type': type }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      })
      const { statusCode, headers } = response
      const bytes = await readUpTo(response.body as AsyncIterable<Uint8Array>, maxBytes)
      if (bytes.length > maxBytes) {
        const why = `the response has more than ${maxBytes} bytes`
        throw new KubeError('too_large', `cannot ${what}: ${why}`)
      }
      const theirs = Date.parse(String(request.path.includes('/proxy/') ? '' : headers['date']))
      if (Number.isFinite(theirs)) {
        this.#aheadMs = clockAhead(theirs, { sentAt, receivedAt: Date.now() }, this.#aheadMs)
      }
      if (statusCode < 200 || statusCode > 299) {
        const failed = responseError(what, statusCode, bytes, name)
        const wait = headers['retry-after']
        failed.retryAfterMs =
          wait === undefined ? undefined : retryAfterOf(String(wait), Date.now())
        throw failed
      }
      return bytes
    } catch (error) {
      if (error instanceof KubeError) throw error
      request.signal?.throwIfAborted()
      if (limit.aborted) {
        const why = silence(request.path, server.host, timeoutMs)
        throw new KubeError('timeout', `cannot ${what}: ${why}`)
      }
      throw this.#unreachable(what, error as NodeJS.ErrnoException)
    }
  }

  #unreachable(what: string, error: NodeJS.ErrnoException): KubeError {
    const { server, name, proxy } = this.#access
    const by = proxy === undefined ? '' : ` through the proxy ${proxy.host}`
    const why = connectionProblem(error, server, proxy)
    return new KubeError('unreachable', `cannot ${what} (${name})${by}: ${why}`)
  }

  /** Shortens a time limit to what is left of the patience, if there was any. */
  #within(timeoutMs: number): number {
    if (this.#until === 0) return timeoutMs
    return Math.min(timeoutMs, Math.max(this.#until - performance.now(), LAST_MS))
  }

  #pathOf({ path, query = {} }: Pick<KubeRequest, 'path' | 'query'>): string {
    const given = Object.entries(query).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    )
    // An API server may be below a path.
    const base = this.#access.server.pathname.replace(/\/+$/, '')
    return `${base}${path}${given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`}`
  }

  #headersFor({ token }: Credentials): Record<string, string> {
    return {
      'user-agent': this.#userAgent,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
  }

  /** Returns the connections with this client certificate. */
  #poolFor({ cert, key }: Credentials): Dispatcher {
    const certificate = `${cert ?? ''}${key ?? ''}`
    if (this.#pool !== undefined && this.#certificate === certificate) return this.#pool
    // Requests in flight end on the old connections.
    void this.#pool?.close().catch(() => undefined)
    const { server, tls, proxy, impersonation } = this.#access
    this.#certificate = certificate
    const pooled = { connections: CONNECTIONS, keepAliveTimeout: KEEP_ALIVE_MS }
    const connect = {
      timeout: CONNECT_TIMEOUT_MS,
      rejectUnauthorized: !tls.insecure,
      ...(tls.ca !== undefined && { ca: tls.ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(tls.servername !== undefined && { servername: tls.servername }),
    }
    const socks = proxy?.protocol.startsWith('socks') ? socksConnector(proxy, connect) : undefined
    const pool =
      proxy === undefined || socks !== undefined
        ? new Pool(server.origin, { ...pooled, connect: socks ?? connect })
        : new ProxyAgent({ ...pooled, uri: proxy.href, requestTls: connect })
    this.#pool = impersonation === undefined ? pool : impersonating(pool, impersonation)
    return this.#pool
  }
}

/** Adds headers to requests and WebSockets, which cannot have a header twice otherwise. */
function impersonating(pool: Dispatcher, impersonation: Impersonation): Dispatcher {
  return pool.compose((dispatch) => (options, handler) => {
    const headers = { ...(options.headers as Record<string, string>), ...impersonation }
    return dispatch({ ...options, headers: headers as Record<string, string[]> }, handler)
  })
}

/** Returns true where a repeated request may succeed, and does no harm. */
function mayRepeat(request: KubeRequest, error: unknown): error is KubeError {
  const { method, body, mayRepeat: may } = request
  if (!(error instanceof KubeError) || may === false) return false
  const { code, status } = error
  if (status === 429 || status === 503) return true
  // A request without a response may have been served. A name is created once; what was deleted may
  // be there again.
  const isNamed = fieldsOf(fieldsOf(body)['metadata'])['name'] !== undefined
  const isSafe = method === 'POST' ? isNamed || may === true : method !== 'DELETE'
  return isSafe && (status === 504 || code === 'unreachable' || code === 'timeout')
}

/** Describes what did not respond: the API server, or a pod behind it. */
function silence(path: string, host: string, timeoutMs: number): string {
  const [who, next] = path.includes('/proxy/')
    ? [`the pod, through ${host},`, 'the pod and its node run']
    : [host, 'it is reachable from here']
  return `${who} did not respond within ${timeoutMs / 1000} s; check that ${next}`
}
