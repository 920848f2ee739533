import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { acceptsType } from '../http/accept.ts'
import type { Exposition } from '../telemetry/metrics.ts'
import type { TextFormat } from '../telemetry/text-format.ts'
import { type AdminAnswer, jsonAnswer } from './admin-response.ts'
import type { ChangeRequest } from './api-changes.ts'
import { metricsFormat } from './metrics-format.ts'

/** Whether traffic should be sent here, and why not. */
export interface Readiness {
  readonly ready: boolean
  readonly reason: string
  /** Whether traffic is taken, be the app there or not. */
  readonly listening?: boolean
}

/** One path of the admin port. */
export interface AdminRoute {
  /** What the list of paths says of it; without one it is not in the list. */
  readonly summary?: string
  /** Read by whoever asks: for the kubelet, which has no token and any `Host`. */
  readonly open?: true
  /** Answers GET, and HEAD without the body. */
  readonly read?: (headers: IncomingHttpHeaders) => AdminAnswer | Promise<AdminAnswer>
  /** Answers GET by itself, for as long as it likes, or says why not. */
  readonly stream?: (response: ServerResponse) => AdminAnswer | undefined
  /** Answers POST of somebody who may change things. */
  readonly change?: (request: ChangeRequest) => AdminAnswer
}

/** What the paths show. */
export interface RouteSources {
  readonly metrics: { render(format: TextFormat): Promise<Exposition> }
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
  /** What a browser gets for the list of paths. */
  readonly page?: (() => Promise<AdminAnswer>) | undefined
}

const TEXT = 'text/plain; charset=utf-8'

/** The methods of a path. */
export function methodsOf({ read, stream, change }: AdminRoute): readonly string[] {
  return [
    ...(read === undefined ? [] : ['GET', 'HEAD']),
    ...(stream === undefined ? [] : ['GET']),
    ...(change === undefined ? [] : ['POST']),
    'OPTIONS',
  ]
}

/** The paths of the admin port: its own, and those given. */
export function createRoutes(
  sources: RouteSources,
  more: readonly (readonly [string, AdminRoute])[] = [],
): ReadonlyMap<string, AdminRoute> {
  const routes = new Map<string, AdminRoute>()
  routes.set('/', root(sources, routes))
  routes.set('/livez', {
    summary: 'the process answers',
    open: true,
    read: () => ({ status: 200, type: TEXT, body: 'ok\n' }),
  })
  routes.set('/readyz', {
    summary: 'whether traffic should be sent here, as JSON',
    open: true,
    read: async () => {
      const { ready, reason, listening } = await sources.readiness()
      return jsonAnswer(ready ? 200 : 503, { ready, reason, listening })
    },
  })
  routes.set('/metrics', {
    summary: 'metrics, as Prometheus text or OpenMetrics',
    read: async ({ accept }) => {
      const { contentType, body, done } = await sources.metrics.render(metricsFormat(accept))
      return { status: 200, type: contentType, body, headers: { vary: 'accept' }, sent: done }
    },
  })
  for (const [path, route] of more) routes.set(path, route)
  return routes
}

/** The paths that are told to people. */
export function listed(routes: ReadonlyMap<string, AdminRoute>): readonly string[] {
  return [...routes.keys()].filter((path) => routes.get(path)?.summary !== undefined)
}

function root(
  { version, page }: RouteSources,
  routes: ReadonlyMap<string, AdminRoute>,
): AdminRoute {
  const list = (): AdminAnswer => ({ status: 200, type: TEXT, body: index(version, routes) })
  if (page === undefined) return { summary: 'this list', read: list }
  return {
    summary: 'this list; in a browser, a page that shows everything live',
    read: async ({ accept }) => {
      // Browsers ask for HTML by name; everybody else gets the list.
      const answer = acceptsType(accept ?? '', 'text/html') ? await page() : list()
      return { ...answer, headers: { ...answer.headers, vary: 'accept' } }
    },
  }
}

function index(version: string, routes: ReadonlyMap<string, AdminRoute>): string {
  const paths = listed(routes).map((path) => `${path.padEnd(12)} ${routes.get(path)?.summary}`)
  return `${[`squall ${version}`, '', ...paths].join('\n')}\n`
}
