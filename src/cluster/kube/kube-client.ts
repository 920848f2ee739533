import type { WebSocket } from 'undici'
import type { ClusterAccess, Credentials } from './cluster-access.ts'
import { responseError } from './response-error.ts'
import { KubeError } from './kube-error.ts'
import { KubeConnections } from './kube-connections.ts'

/** The format of a patch. */
export type PatchType = 'merge' | 'strategic-merge'

/** One request to the API server. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Begins with `/api` or `/apis`; every part of it is encoded already. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly patch?: PatchType
  /** Further headers, for what the API server passes on. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** The operation, for messages: `read configmaps "rules" in namespace "shop"`. */
  readonly what: string
}

/** A WebSocket to the API server. */
export interface SocketRequest extends Pick<KubeRequest, 'path' | 'query'> {
  readonly protocol: string
  readonly signal: AbortSignal
}

/** Speaks to one API server. */
export interface KubeClient {
  /** Where things are looked for when nobody says otherwise. */
  readonly namespace: string
  /** Which cluster it is, for messages. */
  readonly name: string
  /** The JSON that a request is answered with. Throws nothing but a `KubeError`, and what aborts it. */
  request(request: KubeRequest): Promise<unknown>
  /** Opens a WebSocket; undefined when the API server refuses it. */
  openSocket(request: SocketRequest): Promise<WebSocket | undefined>
  /** The time of the API server, once it has answered; until then the time of this machine. */
  now(): number
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 32 * 1024 * 1024
const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
}

/** Creates a client; nothing is connected before the first request. */
export function createKubeClient(access: ClusterAccess, userAgent: string): KubeClient {
  const connections = new KubeConnections(access)
  // Without a slash at its end, or empty: an API server may be below a path.
  const base = access.server.pathname.replace(/\/+$/, '')

  let ahead = 0

  const ownHeaders = ({ token }: Credentials): Record<string, string> => ({
    'user-agent': userAgent,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  })

  async function once(request: KubeRequest, credentials: Credentials): Promise<unknown> {
    const { method, path, query, body, patch, timeoutMs = TIMEOUT_MS, what } = request
    const headers: Record<string, string> = {
      ...request.headers,
      accept: 'application/json',
      ...ownHeaders(credentials),
    }
    if (body !== undefined) {
      headers['content-type'] = patch === undefined ? 'application/json' : PATCH_TYPES[patch]
    }
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = request.signal === undefined ? limit : AbortSignal.any([limit, request.signal])
    try {
      const { statusCode, bytes, date } = await connections.send(credentials, {
        method,
        path: `${base}${path}${queryText(query)}`,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
        maxBytes: request.maxBytes ?? MAX_BYTES,
        what,
      })
      const theirs = Date.parse(typeof date === 'string' ? date : '')
      if (Number.isFinite(theirs)) ahead = theirs - Date.now()
      const json = jsonOf(bytes)
      if (statusCode >= 200 && statusCode < 300) {
        if (json !== undefined) return json
        throw new KubeError('response', `cannot ${what}: the response of ${access.name} is no JSON`)
      }
      throw responseError(what, statusCode, json, bytes, access.name)
    } catch (error) {
      if (error instanceof KubeError) throw error
      request.signal?.throwIfAborted()
      if (limit.aborted) {
        throw new KubeError(
          'timeout',
          `cannot ${what}: ${access.server.host} did not answer within ${timeoutMs / 1000} s; check that it can be reached from here`,
        )
      }
      throw connections.failure(what, error)
    }
  }

  return {
    namespace: access.namespace,
    name: access.name,
    now: () => Date.now() + ahead,
    request: async (request) => {
      try {
        return await once(request, await access.credentials.get(false))
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 401) throw error
        // Some credentials expire without saying when.
        return once(request, await access.credentials.get(true))
      }
    },
    openSocket: async ({ path, query, protocol, signal }) => {
      const credentials = await access.credentials.get(false)
      return connections.openSocket(credentials, {
        path: `${base}${path}${queryText(query)}`,
        protocol,
        headers: ownHeaders(credentials),
        signal,
      })
    },
    close: () => connections.close(),
  }
}

function queryText(query: KubeRequest['query'] = {}): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

/** Parses JSON; undefined where it is none. */
export function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}
