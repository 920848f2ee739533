import type { Exposition } from '../telemetry/metrics.ts'
import { type AdminAnswer, jsonAnswer } from './admin-answer.ts'
import type { ChangeRequest } from './api-changes.ts'

/** Whether traffic should be sent here, and why not. */
export interface Readiness {
  readonly ready: boolean
  readonly reason: string
}

/** One path of the admin port. */
export interface AdminRoute {
  readonly summary: string
  /** Answers GET, and HEAD without the body. */
  readonly read?: () => AdminAnswer | Promise<AdminAnswer>
  /** Answers POST of somebody who may change things. */
  readonly change?: (request: ChangeRequest) => AdminAnswer
}

/** What the paths show. */
export interface RouteSources {
  readonly metrics: { render(): Promise<Exposition> }
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
}

const TEXT = 'text/plain; charset=utf-8'

/** The methods of a path. */
export function methodsOf({ read, change }: AdminRoute): readonly string[] {
  return [
    ...(read === undefined ? [] : ['GET', 'HEAD']),
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
  routes.set('/', {
    summary: 'this list',
    read: () => ({ status: 200, type: TEXT, body: index(sources.version, routes) }),
  })
  routes.set('/livez', {
    summary: 'the process answers',
    read: () => ({ status: 200, type: TEXT, body: 'ok\n' }),
  })
  routes.set('/readyz', {
    summary: 'whether traffic should be sent here, as JSON',
    read: async () => {
      const { ready, reason } = await sources.readiness()
      return jsonAnswer(ready ? 200 : 503, { ready, reason })
    },
  })
  routes.set('/metrics', {
    summary: 'metrics in the Prometheus text format',
    read: async () => {
      const { contentType, text } = await sources.metrics.render()
      return { status: 200, type: contentType, body: text }
    },
  })
  for (const [path, route] of more) routes.set(path, route)
  return routes
}

function index(version: string, routes: ReadonlyMap<string, AdminRoute>): string {
  const lines = [`squall ${version}`, '']
  for (const [path, route] of routes) lines.push(`${path.padEnd(12)} ${route.summary}`)
  return `${lines.join('\n')}\n`
}
