import { once } from 'node:events'
import { type IncomingMessage, request as passOn, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import {
  createCa,
  issueServer,
} from '../../../packages/kubernetes/src/webhook/issue-certificate.ts'
import { forwardPorts } from './api-port-forward.ts'
import { type Fields, mergePatch, selects, strategicPatch } from './api-patches.ts'

/** One request as the server saw it. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly token: string
  /** Headers as pairs of names and values, as they were received. */
  readonly rawHeaders: readonly string[]
  readonly body: Fields
  /** The number of the request on its connection. */
  readonly nth: number
  /** Closes the connection without a response. */
  cut(): void
}

/**
 * A small API server for tests: real HTTPS and the REST behaviour of the few kinds that Squall uses,
 * with versions that conflict, rights that are missing, and pods behind a proxy.
 */
export interface ApiServer {
  readonly url: string
  readonly port: number
  readonly ca: string
  readonly seen: readonly Seen[]
  /** Things by path, as `/api/v1/namespaces/shop/pods/shop-1`. */
  readonly store: Map<string, Fields>
  /** Rights that are missing, as `patch pods`. */
  readonly denied: Set<string>
  /** The admin port of a pod's sidecar, by `namespace/pod`. */
  readonly sidecars: Map<string, string>
  /** Pods, as `namespace/pod`, of which kubelet forwards no port, and what it says of that. */
  readonly unforwarded: Map<string, string>
  /** Logs of containers, by `namespace/pod/container`, as they are at a request. */
  readonly logs: Map<string, () => string>
  /** Tokens that are accepted; all of them while there are none. */
  readonly tokens: Set<string>
  /** Things in a page of a list: few, so that a few things need several pages. */
  pageSize: number
  /** Does something before a request is handled; a number is the status of the response. */
  before: (seen: Seen) => Promise<number | undefined> | number | undefined
  put(path: string, thing: Fields): void
  close(): Promise<void>
}

const HOUR = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) }
const RESOURCE =
  /^\/(?:api\/v1|apis\/([^/]+)\/v1)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?$/
const PROXY = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/:]+):(\d+)\/proxy(\/.*)$/
const LOG = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/log$/
const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Starts one on a free port of loopback; without TLS only where a test needs to see the bytes. */
export async function apiServer(): Promise<ApiServer> {
  const ca = createCa('test-cluster', HOUR)
  const pair = issueServer(ca, ['127.0.0.1', 'localhost'], HOUR)
  const seen: Seen[] = []
  const state = {
    version: 1,
    requests: new WeakMap<object, number>(),
    store: new Map<string, Fields>(),
    denied: new Set<string>(),
    sidecars: new Map<string, string>(),
    unforwarded: new Map<string, string>(),
    logs: new Map<string, () => string>(),
    tokens: new Set<string>(),
  }
  const api: ApiServer = {
    ...state,
    url: '',
    port: 0,
    ca: ca.cert,
    seen,
    pageSize: 2,
    before: () => undefined,
    put: (path, thing) => void save(state, path, thing),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  const server = createTlsServer({ cert: pair.cert, key: pair.key }, (request, response) => {
    void handle(api, state, seen, request, response).catch((error: unknown) => {
      fail(response, 500, 'InternalError', String(error))
    })
  })
  forwardPorts(server, api)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(api, { url: `https://127.0.0.1:${port}`, port })
}

interface State {
  version: number
  readonly requests: WeakMap<object, number>
  readonly store: Map<string, Fields>
}

async function handle(
  api: ApiServer,
  state: State,
  seen: Seen[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://api')
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const token = (request.headers.authorization ?? '').replace('Bearer ', '')
  const body = text === '' ? {} : (JSON.parse(text) as Fields)
  const method = request.method ?? ''
  const { socket } = request
  const nth = (state.requests.get(socket) ?? 0) + 1
  state.requests.set(socket, nth)
  const cut = (): void => void socket.destroy()
  const { rawHeaders } = request
  const { pathname, searchParams: query } = url
  const one: Seen = { method, path: pathname, query, token, rawHeaders, body, nth, cut }
  seen.push(one)
  const status = await api.before(one)
  if (socket.destroyed) return
  if (status !== undefined) return fail(response, status, 'Trouble', 'as the test wants it')
  if (api.tokens.size > 0 && !api.tokens.has(token)) {
    return fail(response, 401, 'Unauthorized', 'Unauthorized')
  }
  const version = url.pathname === '/version' ? state.store.get('/version') : undefined
  if (version !== undefined) return send(response, 200, version)
  const proxied = PROXY.exec(url.pathname)
  if (proxied !== null) return proxy(api, proxied, request, response)
  const [, within, pod] = LOG.exec(url.pathname) ?? []
  const log = api.logs.get(`${within}/${pod}/${url.searchParams.get('container')}`)
  if (log !== undefined) return logOf(log(), url.searchParams.has('timestamps'), response)
  const evicted = /^(.*\/pods\/[^/]+)\/eviction$/.exec(url.pathname)?.[1]
  if (evicted !== undefined && method === 'POST') {
    state.store.delete(evicted)
    return send(response, 201, { kind: 'Status', status: 'Success' })
  }
  const thing = url.pathname.replace(/\/ephemeralcontainers$/, '')
  const match = RESOURCE.exec(thing)
  if (match === null) return fail(response, 404, 'NotFound', 'the path is not known')
  const [, group = '', namespace, resource = '', name] = match
  const verb = VERBS[method] ?? (name === undefined ? 'list' : 'get')
  const asked = thing === url.pathname ? resource : `${resource}/ephemeralcontainers`
  if (api.denied.has(`${verb} ${asked}`)) {
    const where =
      namespace === undefined ? ' at the cluster scope' : ` in the namespace "${namespace}"`
    const which = name === undefined ? '' : ` "${name}"`
    const message = `${resource}${which} is forbidden: User "tester" cannot ${verb} resource "${resource}" in API group "${group}"${where}`
    return fail(response, 403, 'Forbidden', message)
  }
  if (verb === 'list') return list(state, url, api.pageSize, response)
  if (verb === 'create') {
    if (resource === 'selfsubjectreviews') {
      return send(response, 201, { ...body, status: { userInfo: { username: 'tester' } } })
    }
    if (resource === 'selfsubjectaccessreviews') {
      const { resourceAttributes } = body['spec'] as { resourceAttributes: Record<string, string> }
      const { verb: may, resource: what, subresource } = resourceAttributes
      const right = `${may} ${what}${subresource === undefined ? '' : `/${subresource}`}`
      return send(response, 201, { ...body, status: { allowed: !api.denied.has(right) } })
    }
    const metadata = body['metadata'] as { readonly name?: string; readonly generateName?: string }
    const made = metadata.name ?? `${metadata.generateName}${++state.version}`
    const path = `${url.pathname}/${made}`
    if (state.store.has(path)) {
      return fail(response, 409, 'AlreadyExists', `${resource} "${made}" already exists`)
    }
    return send(response, 201, save(state, path, body))
  }
  const found = state.store.get(thing)
  if (found === undefined) return fail(response, 404, 'NotFound', `${resource} "${name}" not found`)
  if (verb === 'get') return send(response, 200, found)
  const conditions = (verb === 'delete' ? body['preconditions'] : body['metadata']) as
    Fields | undefined
  const wanted = conditions?.['resourceVersion']
  if (wanted !== undefined && wanted !== (found['metadata'] as Fields)['resourceVersion']) {
    const message = `Operation cannot be fulfilled on ${resource} "${name}": the object has been modified`
    return fail(response, 409, 'Conflict', message)
  }
  if (verb === 'delete') {
    state.store.delete(url.pathname)
    return send(response, 200, { kind: 'Status', status: 'Success' })
  }
  const type = request.headers['content-type']
  const next =
    verb === 'update'
      ? body
      : type === 'application/strategic-merge-patch+json'
        ? strategicPatch(found, body)
        : mergePatch(found, body)
  return send(response, 200, save(state, thing, next as Fields))
}

function save(state: State, path: string, thing: Fields): Fields {
  const [, namespace] = /\/namespaces\/([^/]+)\/[^/]+\//.exec(path) ?? []
  const saved = {
    ...thing,
    metadata: {
      ...(namespace !== undefined && { namespace }),
      name: path.split('/').at(-1),
      ...(thing['metadata'] as object | undefined),
      resourceVersion: String(++state.version),
    },
  }
  state.store.set(path, saved)
  return saved
}

function list(state: State, url: URL, size: number, response: ServerResponse): void {
  const [, root = '', plural = ''] = /^(.*)\/([a-z]+)$/.exec(url.pathname) ?? []
  const all = [...state.store]
    .filter(([path]) => {
      const within = root === '/api/v1' ? `${root}/namespaces/` : `${root}/`
      return path.startsWith(within) && path.split('/').at(-2) === plural
    })
    .map(([, thing]) => thing)
    .filter((thing) => selects(url.searchParams.get('labelSelector'), thing))
  const from = Number(url.searchParams.get('continue') ?? 0)
  const more = from + size < all.length ? { continue: String(from + size) } : {}
  send(response, 200, { kind: 'List', metadata: more, items: all.slice(from, from + size) })
}

async function proxy(
  api: ApiServer,
  match: RegExpExecArray,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, namespace, pod, , path] = match
  if (api.denied.has('get pods/proxy')) {
    const message = `pods "${pod}" is forbidden: User "tester" cannot get resource "pods/proxy" in API group "" in the namespace "${namespace}"`
    return fail(response, 403, 'Forbidden', message)
  }
  const sidecar = api.sidecars.get(`${namespace}/${pod}`)
  if (sidecar === undefined) {
    return fail(
      response,
      503,
      'ServiceUnavailable',
      'error trying to reach service: connection refused',
    )
  }
  // Headers go on as they came, but for those that the API server itself has read.
  const { authorization: _, connection: __, ...headers } = request.headers
  const asked = passOn(`${sidecar}${path}`, {
    headers: { ...headers, host: 'api.cluster.example.com:6443' },
    agent: false,
  })
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
  // The clock is that of the pod.
  const { date } = answer.headers
  response.writeHead(answer.statusCode ?? 0, { 'content-type': 'application/json', date })
  answer.pipe(response)
}

function logOf(text: string, isStamped: boolean, response: ServerResponse): void {
  const stamp = (_: string, line: number): string =>
    `2026-01-01T00:00:00.${String(line).padStart(9, '0')}Z `
  const lines = text.split('\n').filter((line) => line !== '')
  const shown = lines.map((line, i) => `${isStamped ? stamp(line, i + 1) : ''}${line}\n`)
  response.writeHead(200, { 'content-type': 'text/plain' }).end(shown.join(''))
}

function fail(response: ServerResponse, code: number, reason: string, message: string): void {
  send(response, code, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    reason,
    code,
  })
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
