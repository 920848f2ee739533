import type { RequestListener } from 'node:http'
import { call, callMessage, startUpstream } from '../support/wire.ts'
import { portOf, startProgram } from '../support/commands.ts'
import { mountRules, type MountedRules } from '../live/rules-directory.ts'

/** A sidecar as a process of its own. */
export interface StagedSidecar {
  readonly port: number
  /** Where the admin port is. */
  readonly admin: string
  readonly pod: string
  readonly mounted: MountedRules
  metrics(): Promise<string>
  kill(): Promise<void>
}

/** Client observations by `tool`, `tool/origin` for errors, and `rule/fault/tool` for faults. */
export interface Seen {
  readonly calls: Map<string, number>
  readonly errors: Map<string, number>
  readonly faults: Map<string, number>
  /** Successful calls whose response a fault changed, by tool. */
  readonly changed: Map<string, number>
  /** Seconds that clients waited for the responses, by tool. */
  readonly waited: Map<string, number>
}

/** Two sidecars in front of one upstream, under a load that is known call by call. */
export interface Stage {
  readonly sidecars: readonly StagedSidecar[]
  /** Makes so many rounds of calls through each sidecar; what clients saw is added up. */
  load(rounds: number, seen: Seen): Promise<void>
  /** A call that fails for real. */
  fail(sidecar: StagedSidecar): Promise<void>
  close(): Promise<void>
}

/** Each matches some of the calls of a round; one matches none, one only looks. */
const RULES = `seed: 7
rules:
  - name: slow-search
    match: { tool: search }
    percent: 50
    faults: [delay: { fixed: 60ms }]
  - name: flaky-echo
    match: { tool: echo }
    percent: 30
    faults: [abort: { toolError: the database is away }]
  - name: query-unavailable
    match: { tool: query }
    percent: 25
    faults: [delay: { fixed: 5ms }, abort: { status: 503 }]
  - name: short-weather
    match: { tool: weather }
    percent: 40
    faults: [truncate: { content: { chars: 3 } }]
  - name: only-watched
    dryRun: true
    match: { tool: echo }
    percent: 50
    faults: [abort: { status: 500 }]
  - name: nobody-calls
    match: { tool: no_such_tool }
    faults: [abort: { status: 500 }]
  - name: health-down
    match: { http: { path: /health } }
    percent: 50
    faults: [abort: { status: 503 }]
`
const ROUND = ['search', 'echo', 'echo', 'query', 'query', 'weather', 'weather', 'billing'] as const
const FAILING = 'billing'
const CHANGING = new Set(['truncate'])

/** Nothing seen yet. */
export function nothingSeen(): Seen {
  return {
    calls: new Map(),
    errors: new Map(),
    faults: new Map(),
    changed: new Map(),
    waited: new Map(),
  }
}

/** Starts the upstream and the sidecars, one with each `--metrics-detail`. */
export async function scrapedSidecars(): Promise<Stage> {
  const app = await startUpstream(tools)
  const sidecars = await Promise.all(
    (['basic', 'full'] as const).map((detail, index) =>
      startStaged(`tools-${index}`, `http://127.0.0.1:${app.port}`, detail),
    ),
  )
  let id = 0
  let tasks = 0
  const ask = async (
    { port }: StagedSidecar,
    tool: string,
    seen: Seen,
    task = '',
  ): Promise<void> => {
    const place = { port, host: '127.0.0.1', headers: { 'x-task-id': task } }
    const begun = performance.now()
    const { status, headers, text } = await call(place, callMessage(++id, tool))
    const markers = String(headers['x-squall-fault'] ?? '').split(/,\s*/)
    const faults = markers.flatMap((marker) => (marker === '' ? [] : [marker]))
    const failed = status !== 200 || text.includes('"isError":true')
    count(seen.calls, tool)
    count(seen.waited, tool, (performance.now() - begun) / 1000)
    for (const marker of faults) count(seen.faults, `${marker}/${tool}`)
    const of = (names: ReadonlySet<string>): boolean =>
      faults.some((marker) => names.has(marker.split('/')[1] ?? ''))
    if (failed) count(seen.errors, `${tool}/${of(new Set(['abort'])) ? 'injected' : 'real'}`)
    else if (of(CHANGING)) count(seen.changed, tool)
  }
  return {
    sidecars,
    load: async (rounds, seen) => {
      const each = async (sidecar: StagedSidecar): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          // The second task of a round ends with a real error.
          const first = `${++tasks}`
          for (const [at, tool] of ROUND.entries()) {
            await ask(sidecar, tool, seen, at < ROUND.length / 2 ? first : `${first}-b`)
          }
          const health = await fetch(`http://127.0.0.1:${sidecar.port}/health`)
          await health.arrayBuffer()
          const marker = health.headers.get('x-squall-fault')
          if (marker !== null) count(seen.faults, `${marker}/`)
        }
      }
      await Promise.all(sidecars.map(each))
    },
    fail: async ({ port }) => {
      await call({ port, host: '127.0.0.1' }, callMessage(++id, 'always_broken'))
    },
    close: async () => {
      for (const sidecar of sidecars) {
        await sidecar.kill()
        await sidecar.mounted.remove()
      }
      await app.close()
    },
  }
}

async function startStaged(pod: string, upstream: string, detail: string): Promise<StagedSidecar> {
  const mounted = await mountRules(RULES)
  const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--upstream', upstream]
  const guard = ['--guard-window', '2s', '--header-faults', '--task-window', '1s']
  const metrics = ['--metrics-detail', detail]
  const program = startProgram([
    'run',
    ...places,
    '--rules',
    mounted.file,
    '--pod',
    pod,
    ...guard,
    ...metrics,
  ])
  const admin = `127.0.0.1:${portOf(await program.logged('admin listening'))}`
  return {
    port: portOf(await program.logged('listening')),
    admin,
    pod,
    mounted,
    metrics: async () => (await fetch(`http://${admin}/metrics`)).text(),
    kill: () => program.kill(),
  }
}

interface AppCall {
  readonly id: number
  readonly params: { readonly name: string }
}

/** The call assumed for a health check, which has no body. */
const HEALTH = '{"id":0,"params":{"name":"health"}}'

/** The upstream: one tool fails now and then by itself, one always. */
const tools: RequestListener = (req, res) => {
  let body = ''
  req.setEncoding('utf8').on('data', (part: string) => (body += part))
  req.on('end', () => {
    const { id, params } = JSON.parse(body === '' ? HEALTH : body) as AppCall
    if (params.name === 'always_broken') res.statusCode = 500
    const isError = params.name === FAILING && id % 3 !== 0
    const result = { content: [{ type: 'text', text: `${params.name} says ${id}` }], isError }
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

function count(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
