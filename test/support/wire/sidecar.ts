import type { RequestListener } from 'node:http'
import type { AgentWatch, AgentWatchOptions } from '../../../src/agents/agent-watch.ts'
import type { Sidecar } from '../../../src/listener/sidecar.ts'
import type { SidecarOptions } from '../../../src/listener/sidecar-options.ts'
import type { RuleSpec } from '../../../src/rules/file/rule-spec.ts'
import type { CallWatch } from '../../../src/telemetry/call-watch.ts'
import type { RawApp, RawAppOptions } from './raw-app.ts'
import type { RuleStage, RuleStageOptions } from './rules.ts'
import { startUpstream } from './upstream.ts'
import type { ProcessSetup, SidecarProcess } from './sidecar-process.ts'
import { familyIn, type Line } from '../../telemetry/exposition.ts'
import { eventually } from '../eventually.ts'

/**
 * Where a server is, what an upstream of node:http does with requests, or what one of plain sockets
 * does.
 */
type Upstream = string | RequestListener | RawAppOptions

export interface StartOptions<U extends Upstream = Upstream>
  extends Partial<Omit<SidecarOptions, 'pairs'>>, RuleStageOptions {
  readonly upstream: U
  /** Routes to dependencies over HTTP. */
  readonly outboundPairs?: SidecarOptions['pairs']
  /** Undefined for a sidecar that no rules can become active in. */
  readonly rules?: readonly RuleSpec[]
  /** Named by the requests of `call` and `post`. */
  readonly session?: string
  /** Groups calls into tasks. */
  readonly tasks?: AgentWatchOptions
  /** Shows calls that end. */
  readonly watch?: CallWatch
}

export interface RuledOptions extends StartOptions<RequestListener> {
  readonly rules: readonly RuleSpec[]
}

export interface RunningSidecar {
  readonly url: string
  readonly host: string
  readonly port: number
  /** The ports of all listeners: of the pair, and of the routes to dependencies. */
  readonly ports: readonly number[]
  readonly sidecar: Sidecar
  /** The stage of its rules; undefined without any. */
  readonly faults: RuleStage | undefined
  /** Watches agents; undefined without `tasks`. */
  readonly agents: AgentWatch | undefined
  metrics(): Promise<string>
  close(): Promise<void>
}

/** A sidecar with an upstream of plain sockets behind it, which ends with it. */
export interface ScriptedSidecar extends RunningSidecar {
  readonly app: RawApp
}

/** The built program, so that its memory and its sockets are separate from the test's. */
export interface ProcessOptions {
  readonly upstream: string
  readonly process: ProcessSetup
}

/**
 * Starts a sidecar in this process, or in its own with `process`, on a free port of loopback, in
 * front of `upstream`. An upstream that is given by what it does is started first, and closed last.
 */
export function startSidecar(options: ProcessOptions): Promise<SidecarProcess>
export function startSidecar(options: StartOptions<RawAppOptions>): Promise<ScriptedSidecar>
export function startSidecar(options: RuledOptions): Promise<RuledSidecar>
export function startSidecar(options: StartOptions): Promise<RunningSidecar>
export async function startSidecar(
  start: StartOptions | ProcessOptions,
): Promise<RunningSidecar | SidecarProcess> {
  if ('process' in start) {
    const { sidecarProcess } = await import('./sidecar-process.ts')
    return sidecarProcess(start.upstream, start.process)
  }
  const { startBefore } = await import('./sidecar-here.ts')
  const { upstream, session, ...options } = start
  if (typeof upstream === 'string') return startBefore(upstream, options)
  const app = await startUpstream(upstream)
  const sidecar = await startBefore(app.url, options)
  const close = async (): Promise<void> => {
    await sidecar.close()
    await app.close()
  }
  const running = { ...sidecar, app, close }
  return options.rules === undefined || typeof upstream !== 'function'
    ? running
    : withFaults(running, session)
}

/** A sidecar with rules, and what its faults did. */
export type RuledSidecar = ReturnType<typeof withFaults>

/** Adds what a test asks of the faults; `session` is named by the requests of `call` and `post`. */
function withFaults(squall: RunningSidecar, session: string | undefined) {
  const faults = squall.faults!
  const positive = (text: string, name: string): readonly Line[] =>
    (familyIn(text, name)?.lines ?? []).filter(({ value }) => value > 0)
  const ended = async (name: string): Promise<readonly Line[]> =>
    positive(await squall.metrics(), name)
  /** Waits until calls or exchanges without calls have ended, and nothing is open. */
  const settled = (count = 1): Promise<void> =>
    eventually(async () => {
      const text = await squall.metrics()
      const [calls, http, open] = [
        'squall_calls_total',
        'squall_http_requests_total',
        'squall_in_flight_requests',
      ].map((name) => positive(text, name))
      const total = [...calls!, ...http!].reduce((sum, { value }) => sum + value, 0)
      return total >= count && open!.length === 0 ? undefined : `${total} of ${count} have ended`
    })
  return {
    ...squall,
    faults,
    ...(session !== undefined && { headers: { 'mcp-session-id': session } }),
    injected: faults.injected,
    notApplicable: faults.notApplicable,
    broken: faults.broken,
    counts: (index?: number) => faults.counts(index),
    settled,
    /** Returns the distinct origins of the ended calls of a tool. */
    origins: async (tool = 'echo'): Promise<readonly string[]> => {
      await settled()
      const lines = await ended('squall_calls_total')
      const own = lines.filter(({ labels }) => labels['tool'] === tool)
      return [...new Set(own.map(({ labels }) => labels['origin']!))]
    },
    /** Returns the number of ended calls by tool and origin. */
    counted: async (): Promise<Readonly<Record<string, number>>> => {
      const lines = await ended('squall_calls_total')
      return Object.fromEntries(
        lines.map(({ labels: { tool, origin }, value }) => [`${tool} ${origin}`, value]),
      )
    },
    /** Returns the number of faults that act now. */
    active: () => faults.active,
    disarm: () => faults.rules.states.disarm('test'),
    drain: () => squall.sidecar.drain(),
    /** Resolves when the condition is true. */
    until: (met: () => boolean): Promise<void> =>
      eventually(() => (met() ? undefined : `not so: ${String(met)}`)),
  }
}
