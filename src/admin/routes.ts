import type { Exposition } from '../telemetry/metrics.ts'

/** Whether traffic should be sent here, and why not. */
export interface Readiness {
  readonly ready: boolean
  readonly reason: string
}

/** What a path answers. */
export interface AdminAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** One path of the admin port. */
export interface AdminRoute {
  readonly summary: string
  answer(): AdminAnswer | Promise<AdminAnswer>
}

/** What the paths show. */
export interface RouteSources {
  readonly metrics: { render(): Promise<Exposition> }
  readonly readiness: () => Readiness | Promise<Readiness>
  readonly version: string
}

const TEXT = 'text/plain; charset=utf-8'

/** A JSON answer on one line. */
export function jsonAnswer(status: number, value: unknown): AdminAnswer {
  return { status, type: 'application/json', body: `${JSON.stringify(value)}\n` }
}

/** The paths of the admin port. */
export function createRoutes(sources: RouteSources): ReadonlyMap<string, AdminRoute> {
  const routes = new Map<string, AdminRoute>()
  routes.set('/', {
    summary: 'this list',
    answer: () => ({ status: 200, type: TEXT, body: index(sources.version, routes) }),
  })
  routes.set('/livez', {
    summary: 'the process answers',
    answer: () => ({ status: 200, type: TEXT, body: 'ok\n' }),
  })
  routes.set('/readyz', {
    summary: 'whether traffic should be sent here, as JSON',
    answer: async () => {
      const { ready, reason } = await sources.readiness()
      return jsonAnswer(ready ? 200 : 503, { ready, reason })
    },
  })
  routes.set('/metrics', {
    summary: 'metrics in the Prometheus text format',
    answer: async () => {
      const { contentType, text } = await sources.metrics.render()
      return { status: 200, type: contentType, body: text }
    },
  })
  return routes
}

function index(version: string, routes: ReadonlyMap<string, AdminRoute>): string {
  const lines = [`squall ${version}`, '']
  for (const [path, route] of routes) lines.push(`${path.padEnd(10)} ${route.summary}`)
  return `${lines.join('\n')}\n`
}
