import { type Board, SidecarWatch } from '../../src/top/sidecar-view.ts'
import { readSnapshot } from '../../src/top/read-snapshot.ts'

const AT = Date.parse('2026-03-01T09:04:20.000Z')

/** The state of an invented sidecar. */
export interface Told {
  readonly digest?: string
  readonly armed?: boolean
  readonly rules?: readonly object[]
  readonly tools?: readonly object[]
  readonly errors?: readonly object[]
  readonly faults?: readonly object[]
  readonly lastReload?: object | null
}

/** One event of `/api/events`, so many seconds after the first. */
export function event(second: number, told: Told = {}): string {
  const { digest = '9827943e00', armed = true, rules = [], tools = [], ...more } = told
  const { errors = [], faults = [] } = more
  const reasons = armed
    ? []
    : [{ by: 'operator', reason: 'deploy', at: '2026-03-01T09:03:11.883Z' }]
  return JSON.stringify({
    at: new Date(AT + second * 1_000).toISOString(),
    state: {
      version: '1.2.3',
      environment: 'staging',
      startedAt: null,
      uptimeSeconds: second,
      canChange: true,
      armed,
      reasons,
      dryRun: false,
      activeFaults: 2,
      maxActiveFaults: null,
      rules: { count: rules.length, generation: 3, digest, since: null },
      unanchored: [],
      lastReload: told.lastReload ?? null,
    },
    rules: { generation: 3, digest, count: rules.length, rules },
    tools,
    errors: { total: errors.length, dropped: 0, errors },
    faults: { whole: true, total: faults.length, faults },
  })
}

/** A rule as the API reports it. */
export function rule(name: string, sampled: number, more: object = {}): object {
  return {
    name,
    faults: ['delay', 'abort'],
    about: 'calls',
    since: null,
    appliedAt: null,
    from: null,
    until: null,
    phase: 'on',
    percent: 30,
    sampled,
    active: 1,
    counts: { matched: sampled * 3, sampled, injected: sampled },
    ...more,
  }
}

/** A tool as the API reports it. */
export function tool(
  name: string,
  [real, injected]: readonly [number, number],
  squall = 0,
  client?: readonly [number, number, number],
): object {
  const errors = { real, injected, squall, injected_elsewhere: 0 }
  return {
    tool: name,
    calls: { real: real + 100, injected, squall, injected_elsewhere: 0 },
    errors,
    ...(client && { client: latencies(client) }),
  }
}

function latencies([p50, p95, p99]: readonly [number, number, number]): object {
  return { p50, p95, p99 }
}

/** A kind of errors as the API reports it. */
export function error(origin: string, message: string, more: object = {}): object {
  const at = '2026-03-01T09:04:18.500Z'
  return {
    method: 'tools/call',
    tool: 'search',
    outcome: 'tool_error',
    origin,
    first: at,
    last: at,
    count: 1,
    samples: [{ at, message, trace: '4bf92f3577b34da6a3ce929d0e0e4736' }],
    ...more,
  }
}

/** A board of sidecars that reported this, second by second; texts are of those that are lost. */
export function board(sidecars: readonly (readonly Told[] | string)[]): Board {
  const views = sidecars.map((told, i) => {
    const watch = new SidecarWatch({ host: '10.0.0.7', port: 15390 + i })
    if (typeof told === 'string') watch.setLost(told)
    else {
      for (const [second, each] of told.entries()) {
        watch.update(readSnapshot(event(second, each)), second * 1_000)
        watch.tick()
      }
    }
    return watch.view
  })
  return { at: '2026-03-01T09:04:23.000Z', sidecars: views }
}
