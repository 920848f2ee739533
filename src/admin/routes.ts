import { mediaType } from '../http/headers.ts'
import type { Exposition, TextFormat } from '../telemetry/text-format.ts'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { acceptsType } from '../http/accept.ts'
import { type AdminResponse, jsonResponse } from './admin-response.ts'
import type { Guard } from './guards.ts'
import { API, type Endpoint, OTHER_PATHS, type ResponseOf } from './contract/api.ts'
import type { ChangeRequest } from './api-changes.ts'

const OPENMETRICS = 'application/openmetrics-text'
const VERSION = '1.0.0'
const PLAIN_TYPES = new Set(['text/plain', 'text/*', '*/*'])

/** Returns the format for an Accept value: OpenMetrics only where named with no lower weight. */
export function metricsFormat(accept = ''): TextFormat {
  let open = 0
  let text = 0
  for (const element of accept.split(',')) {
    const type = mediaType(element)
    if (type === OPENMETRICS && speaks(element)) open = Math.max(open, weight(element))
    else if (PLAIN_TYPES.has(type)) text = Math.max(text, weight(element))
  }
  return open > 0 && open >= text ? 'openmetrics' : 'prometheus'
}

/** Returns true for the supported version of OpenMetrics, and for none. */
function speaks(element: string): boolean {
  const version = parameter(element, 'version')
  return version === undefined || version === VERSION
}

function weight(element: string): number {
  const value = Number(parameter(element, 'q') ?? 1)
  return value >= 0 && value <= 1 ? value : 0
}

function parameter(element: string, name: string): string | undefined {
  for (const part of element.split(';').slice(1)) {
    const [key = '', value = ''] = part.split('=', 2)
    if (key.trim().toLowerCase() === name) return value.trim().replaceAll('"', '')
  }
  return undefined
}

/** The pod's readiness, with the reasons against it. */
export type Readiness = ResponseOf<typeof API.readyz>

export interface AdminRoute {
  /** The description in the list of paths; paths without one are not listed. */
  readonly summary?: string
  /** Readable without a token and by any `Host`, as the kubelet does. */
  readonly open?: true
  /** Replaces the guards of the port, for reads as for changes. */
  readonly guard?: Guard
  /** Answers GET, and HEAD without the body. */
  readonly read?: (headers: IncomingHttpHeaders) => AdminResponse | Promise<AdminResponse>
  /** Answers GET itself, or returns the response. */
  readonly stream?: (
    response: ServerResponse,
    query: URLSearchParams,
  ) => AdminResponse | undefined | Promise<AdminResponse | undefined>
  /** Answers POST of a client that may change things. */
  readonly change?: (request: ChangeRequest) => AdminResponse
  /** Answers DELETE of a client that may change things. */
  readonly remove?: (request: ChangeRequest) => AdminResponse
}

export interface RouteSources {
  readonly metrics: { render(format: TextFormat): Promise<Exposition> }
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
}

export type Routes = readonly (readonly [path: string, route: AdminRoute])[]

const TEXT = 'text/plain; charset=utf-8'

/** Makes the route of an endpoint. */
export function routeOf(
  { path, summary, open }: Endpoint,
  does: Pick<AdminRoute, 'read' | 'stream' | 'change' | 'remove'>,
): readonly [string, AdminRoute] {
  return [
    path,
    { ...does, ...(summary !== undefined && { summary }), ...(open === true && { open }) },
  ]
}

export function methodsOf({ read, stream, change, remove }: AdminRoute): readonly string[] {
  return [
    ...(read === undefined ? [] : ['GET', 'HEAD']),
    ...(stream === undefined ? [] : ['GET']),
    ...(change === undefined ? [] : ['POST']),
    ...(remove === undefined ? [] : ['DELETE']),
    'OPTIONS',
  ]
}

/**
 * Makes the paths of the admin port, with the given ones; `page` replaces the list in a browser.
 */
export function createRoutes(
  sources: RouteSources,
  more: Routes,
  page: (() => Promise<AdminResponse>) | undefined,
): ReadonlyMap<string, AdminRoute> {
  const routes = new Map<string, AdminRoute>()
  const list = (): AdminResponse => {
    const paths = listed(routes).map((path) => `${path.padEnd(14)} ${routes.get(path)?.summary}`)
    const body = `${[`squall ${sources.version}`, '', ...paths].join('\n')}\n`
    return { status: 200, type: TEXT, body }
  }
  const own: Routes = [
    [OTHER_PATHS.index.path, root(list, page)],
    routeOf(OTHER_PATHS.livez, { read: () => ({ status: 200, type: TEXT, body: 'ok\n' }) }),
    routeOf(API.readyz, {
      read: async () => {
        const { ready, reason, listening } = await sources.readiness()
        return jsonResponse(ready ? 200 : 503, { ready, reason, listening } satisfies Readiness)
      },
    }),
    routeOf(OTHER_PATHS.metrics, {
      read: async ({ accept }) => {
        const { contentType, body, done } = await sources.metrics.render(metricsFormat(accept))
        return { status: 200, type: contentType, body, headers: { vary: 'accept' }, sent: done }
      },
    }),
    routeOf(OTHER_PATHS.openapi, {
      read: async () => {
        const { openApi } = await import('./openapi.ts')
        return jsonResponse(200, openApi(sources.version))
      },
    }),
  ]
  for (const [path, route] of [...own, ...more]) routes.set(path, route)
  return routes
}

export function listed(routes: ReadonlyMap<string, AdminRoute>): readonly string[] {
  return [...routes.keys()].filter((path) => routes.get(path)?.summary !== undefined)
}

function root(list: () => AdminResponse, page?: () => Promise<AdminResponse>): AdminRoute {
  if (page === undefined) return { summary: OTHER_PATHS.index.summary, read: list }
  return {
    summary: 'this list; in a browser, the live admin page',
    read: async ({ accept }) => {
      // Browsers ask for HTML by name; other clients get the list.
      const response = acceptsType(accept ?? '', 'text/html') ? await page() : list()
      return { ...response, headers: { ...response.headers, vary: 'accept' } }
    },
  }
}
