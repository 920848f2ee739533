import { LOAD_DEFAULTS, type LoadOptions } from '../load/load-options.ts'
import { type Plan, resilienceOf } from './plan.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import { LoadError } from '../load/load-error.ts'
import type { ToolInfo } from '../load/clients/load-client.ts'
import type { LoadResult, Timeline } from '../load/results/result.ts'
import { type RunningLoad, runLoad } from '../load/run-load.ts'
import type { EarlyEnd, PhaseResult } from './experiment-result.ts'
import type { Measured } from './gate.ts'
import { LoadMeter } from './load-meter.ts'
import type { Sidecars } from './sidecars.ts'
import type { Probe } from './probe.ts'
import type { Samplers } from './monitor/samplers.ts'

/** Configures an experiment besides its plan. */
export interface LoadContext {
  readonly version: string
  /** Headers of every request; never stored. */
  readonly headers: Readonly<Record<string, string>>
  readonly sidecars: Sidecars
  /** The tools that the first phase has chosen when the plan names none. */
  readonly called?: readonly string[]
}

/** What all phases have in common. */
export interface PhaseContext extends LoadContext {
  readonly plan: Plan
  /** Undefined when the load itself is measured. */
  readonly probe: Probe | undefined
  readonly samplers: Samplers
  readonly stop: AbortSignal
}

/** Returns the load options of a phase. */
function phaseLoad(
  plan: Plan,
  { version, headers, called, sidecars }: LoadContext,
  durationMs: number,
): LoadOptions {
  const { file, target, calls, expectations, slo, seed } = plan
  const { load } = file
  const named = load.tools ?? []
  const tools = named.length > 0 || calls.length > 0 ? named : (called ?? [])
  return {
    target: {
      url: target,
      client: file.target.client,
      headers: { ...file.target.headers, ...headers },
      ...sidecars.forLoad,
      indirect: file.target.indirect,
    },
    work: { ...LOAD_DEFAULTS.work, tools, calls, fanOut: load.fanOut },
    pace: {
      ...LOAD_DEFAULTS.pace,
      clients: load.clients,
      hold: load.streams,
      durationMs,
      ...(load.rate !== undefined && { rate: load.rate }),
    },
    resilience: resilienceOf(load),
    checks: { expectations, slo },
    seed,
    version,
  }
}

/** A measurement during a phase. */
export interface Moment {
  /** The time of `performance.now()`. */
  readonly at: number
  readonly load: Measured
  readonly steady: Measured
  readonly calls: number
  /** True while the last calls end: they are slower than the average call. */
  readonly draining: boolean
  /** Returns the counts of each second. */
  readonly timeline: () => Timeline
}

/** Configures a phase of load and its checks. */
export interface PhaseSpec {
  readonly label: string
  readonly durationMs: number
  /**
   * Called ten times a second. `enough` and `drain` end the phase early and successfully; `drain`
   * lets the in-flight calls end.
   */
  readonly tick: (moment: Moment) => EarlyEnd | 'enough' | 'drain' | undefined
  /** Called repeatedly, with a pause between two calls. */
  readonly poll?: (signal: AbortSignal) => Promise<EarlyEnd | undefined>
  readonly pollMs?: number
  readonly begun?: (signal: AbortSignal) => Promise<EarlyEnd | undefined>
  /** Called as soon as a reason to end is detected. */
  readonly onEnd?: (end: EarlyEnd) => void
  /** The time in which the load may retry to begin. */
  readonly beginWithinMs: number
}

const TICK_MS = 100
const POLL_MS = 300
const RETRY_MS = 250

const NOTHING: Measured = { errors: null, success: null, p50: null, p95: null, p99: null }

/** Runs the load of a phase and its checks. */
export async function runPhase(context: PhaseContext, spec: PhaseSpec) {
  const { plan, stop, probe, samplers } = context
  const { label, durationMs } = spec
  const options = phaseLoad(plan, context, durationMs)
  const resultOf = resultMaker(context, label)
  const ending = new AbortController()
  const draining = new AbortController()
  const stopLoad = (): void => ending.abort()
  stop.addEventListener('abort', stopLoad, { once: true })
  if (stop.aborted) stopLoad()
  let end: EarlyEnd | undefined
  let isEnough = false
  let tools: readonly ToolInfo[] = []
  let called: readonly string[] = []
  const endWith = (found: EarlyEnd | undefined): void => {
    if (found === undefined || end !== undefined || ending.signal.aborted) return
    end = found
    spec.onEnd?.(found)
    stopLoad()
  }
  const watches: Promise<void>[] = []
  let beginning: Promise<void> | undefined
  let failure: unknown
  // These promises are awaited after the load; an error ends the load.
  const watch = (task: Promise<void>): Promise<void> => {
    const watched = task.catch((error: unknown) => {
      failure ??= error
      stopLoad()
    })
    watches.push(watched)
    return watched
  }
  let meter: LoadMeter | undefined
  try {
    const result = await begin(
      options,
      spec,
      ending.signal,
      draining.signal,
      ({ recorder, ...run }) => {
        tools = run.endpoint.tools
        called = run.called
        const own = new LoadMeter(recorder)
        meter = own
        const check = async (): Promise<void> => {
          const extras = samplers.measured()
          const load = { ...own.measured(), ...extras }
          const steady = { ...(probe?.measured() ?? load), ...extras }
          const { calls } = recorder.counts
          const over = recorder.timeline.elapsedMs >= durationMs
          const timeline = (): Timeline => recorder.timeline.timeline()
          const moment = { at: performance.now(), load, steady, calls, timeline }
          const found = spec.tick({ ...moment, draining: over || draining.signal.aborted })
          if (found === 'enough' || found === 'drain') {
            isEnough = true
            if (found === 'enough') stopLoad()
            else draining.abort()
          } else endWith(found ?? samplers.lost(performance.now()))
        }
        void watch(every(TICK_MS, ending.signal, check))
        const { poll, pollMs = POLL_MS, begun } = spec
        if (poll !== undefined) {
          const ask = async (): Promise<void> => endWith(await poll(ending.signal))
          void watch(every(pollMs, ending.signal, ask))
        }
        if (begun !== undefined) beginning = watch(begun(ending.signal).then(endWith))
      },
    )
    await beginning
    if (failure !== undefined) throw failure
    const complete = result.run.complete || (isEnough && end === undefined && !stop.aborted)
    const load = { ...result, run: { ...result.run, complete } }
    return { result: resultOf(measuredOf(result), load), end, tools, called }
  } catch (error) {
    if (!(error instanceof LoadError) || error instanceof ToolsNotNamedError) throw error
    endWith({ code: 'TARGET_LOST', why: `the load failed to start: ${error.message}` })
    return { result: resultOf(meter?.measured() ?? NOTHING), end, tools, called }
  } finally {
    stopLoad()
    stop.removeEventListener('abort', stopLoad)
    await Promise.all(watches)
  }
}

async function begin(
  load: LoadOptions,
  { beginWithinMs }: PhaseSpec,
  stop: AbortSignal,
  drain: AbortSignal,
  begun: (run: RunningLoad) => void,
): Promise<LoadResult> {
  const either = AbortSignal.any([stop, drain])
  const until = performance.now() + beginWithinMs
  // The first attempt may have failed because this process stood still.
  for (let attempt = 1; ; attempt++) {
    try {
      return (await runLoad(load, { stop: either, cut: stop, begun, endWait: stop })).result
    } catch (error) {
      const retryable = error instanceof LoadError && !(error instanceof ToolsNotNamedError)
      const isOver = attempt > 1 && performance.now() > until
      if (!retryable || isOver || stop.aborted) throw error
      await sleep(RETRY_MS, undefined, { signal: stop }).catch(() => {})
    }
  }
}

async function every(ms: number, signal: AbortSignal, check: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await check()
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}

export function measuredOf({ counts, indicators, latency }: LoadResult): Measured {
  const { p50, p95, p99 } = latency.summary
  const { calls, responded } = counts
  const errors = calls === 0 ? null : (calls - responded) / calls
  return { errors, success: indicators.tcsr, p50, p95, p99 }
}

/** Returns a function that makes the result of a phase, which begins now. */
function resultMaker({ probe, samplers }: PhaseContext, label: string) {
  const startedAt = new Date().toISOString()
  const began = performance.now()
  return (own: Measured, load?: LoadResult): PhaseResult => {
    const measured = { ...(probe?.measured(began) ?? own), ...samplers.measured(began) }
    const durationMs = Math.round(performance.now() - began)
    return { label, startedAt, durationMs, measured, ...(load && { load }) }
  }
}
