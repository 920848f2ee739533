import { setTimeout as sleep } from 'node:timers/promises'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import { LoadError } from '../load/load-error.ts'
import type { ToolInfo } from '../load/clients/load-client.ts'
import type { LoadOptions } from '../load/load-options.ts'
import type { LoadResult } from '../load/results/result.ts'
import { type RunningLoad, runLoad } from '../load/run-load.ts'
import type { Breach } from './abort-watch.ts'
import type { EndCode, PhaseResult } from './experiment-result.ts'
import type { Measured } from './gate.ts'
import { LoadMeter } from './load-meter.ts'
import type { Probe } from './probe.ts'

/** The reason why a phase ended early. */
export interface End {
  readonly code: EndCode
  readonly why: string
  readonly breach?: Breach
}

/** A measurement during a phase. */
export interface Moment {
  /** The time of `performance.now()`. */
  readonly at: number
  readonly load: Measured
  readonly steady: Measured
  readonly calls: number
  /** True after the end of the phase while the last calls end: these are slower than the average call. */
  readonly draining: boolean
}

/** Configures a phase of load and its checks. */
export interface PhaseSpec {
  readonly label: string
  readonly load: LoadOptions
  /** Undefined when the load itself is measured. */
  readonly probe: Probe | undefined
  readonly stop: AbortSignal
  /** Called ten times a second; `enough` ends the phase early and successfully. */
  readonly tick: (moment: Moment) => End | 'enough' | undefined
  /** Called repeatedly, at most three times a second. */
  readonly beside?: (signal: AbortSignal) => Promise<End | undefined>
  readonly begun?: (signal: AbortSignal) => Promise<End | undefined>
  /** Called as soon as a reason to end is detected. */
  readonly seen: (end: End) => void
  /** The time in which the load may retry to begin. */
  readonly beginWithinMs: number
}

export interface PhaseEnd {
  readonly result: PhaseResult
  readonly end: End | undefined
  readonly tools: readonly ToolInfo[]
  /** The names of the called tools. */
  readonly called: readonly string[]
}

const TICK_MS = 100
const BESIDE_MS = 300
const AGAIN_MS = 250

const NOTHING: Measured = { errors: null, success: null, p50: null, p95: null, p99: null }

/** Runs the load of a phase and its checks. */
export async function runPhase(spec: PhaseSpec): Promise<PhaseEnd> {
  const { label, stop, probe } = spec
  const startedAt = new Date().toISOString()
  const began = performance.now()
  const over = new AbortController()
  const giveUp = (): void => over.abort()
  stop.addEventListener('abort', giveUp, { once: true })
  if (stop.aborted) giveUp()
  let end: End | undefined
  let tools: readonly ToolInfo[] = []
  let called: readonly string[] = []
  const see = (found: End | undefined): void => {
    if (found === undefined || end !== undefined || over.signal.aborted) return
    end = found
    spec.seen(found)
    giveUp()
  }
  const watches: Promise<void>[] = []
  let beginning: Promise<void> | undefined
  let trouble: unknown
  // These promises are awaited after the load; an error ends the load.
  const watch = (looking: Promise<void>): Promise<void> => {
    const watched = looking.catch((error: unknown) => {
      trouble ??= error
      giveUp()
    })
    watches.push(watched)
    return watched
  }
  let meter: LoadMeter | undefined
  try {
    const result = await begin(spec, over.signal, ({ recorder, ...run }) => {
      tools = run.endpoint.tools
      called = run.called
      const own = new LoadMeter(recorder)
      meter = own
      const look = async (): Promise<void> => {
        const load = own.measured()
        const steady = probe?.measured() ?? load
        const { calls } = recorder.counts
        const draining = recorder.elapsedMs >= (spec.load.pace.durationMs ?? Infinity)
        const found = spec.tick({ at: performance.now(), load, steady, calls, draining })
        if (found === 'enough') giveUp()
        else see(found)
      }
      void watch(every(TICK_MS, over.signal, look))
      const { beside, begun } = spec
      if (beside !== undefined) {
        const ask = async (): Promise<void> => see(await beside(over.signal))
        void watch(every(BESIDE_MS, over.signal, ask))
      }
      if (begun !== undefined) beginning = watch(begun(over.signal).then(see))
    })
    await beginning
    if (trouble !== undefined) throw trouble
    const steady = probe?.measured(began) ?? measuredOf(result)
    return { result: phaseResult(label, startedAt, began, steady, result), end, tools, called }
  } catch (error) {
    if (!(error instanceof LoadError) || error instanceof ToolsNotNamedError) throw error
    see({ code: 'TARGET_LOST', why: `the load could not begin: ${error.message}` })
    const steady = probe?.measured(began) ?? meter?.measured() ?? NOTHING
    return { result: phaseResult(label, startedAt, began, steady, undefined), end, tools, called }
  } finally {
    giveUp()
    stop.removeEventListener('abort', giveUp)
    await Promise.all(watches)
  }
}

async function begin(
  { load, beginWithinMs }: PhaseSpec,
  stop: AbortSignal,
  begun: (run: RunningLoad) => void,
): Promise<LoadResult> {
  const until = performance.now() + beginWithinMs
  for (;;) {
    try {
      return (await runLoad(load, { stop, cut: stop, begun })).result
    } catch (error) {
      const again = error instanceof LoadError && !(error instanceof ToolsNotNamedError)
      if (!again || performance.now() > until || stop.aborted) throw error
      await sleep(AGAIN_MS, undefined, { signal: stop }).catch(() => {})
    }
  }
}

async function every(ms: number, signal: AbortSignal, look: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await look()
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}

export function measuredOf({ indicators, latency }: LoadResult): Measured {
  const { p50, p95, p99 } = latency.summary
  const { etaResponded, tcsr } = indicators
  return { errors: etaResponded === null ? null : 1 - etaResponded, success: tcsr, p50, p95, p99 }
}

function phaseResult(
  label: string,
  startedAt: string,
  began: number,
  measured: Measured,
  load: LoadResult | undefined,
): PhaseResult {
  const durationMs = Math.round(performance.now() - began)
  return { label, startedAt, durationMs, measured, ...(load !== undefined && { load }) }
}
