import { LOAD_DEFAULTS, type LoadOptions } from '../load/load-options.ts'
import { resilienceOf } from './plan.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import { LoadError } from '../load/load-error.ts'
import type { LoadResult, Timeline } from '../load/results/result.ts'
import { type RunningLoad, runLoad } from '../load/run-load.ts'
import type { Context } from './context.ts'
import type { EarlyEnd, PhaseResult } from './experiment-result.ts'
import { every } from './every.ts'
import { type Measured, measuredOf } from './gate.ts'
import { LoadMeter } from './load-meter.ts'

/** Returns the load options of a phase. */
function phaseLoad(context: Context, durationMs: number): LoadOptions {
  const { version, headers, called, sidecars } = context
  const { file, target, calls, expectations, slo, seed } = context.plan
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
  /** Called repeatedly, at the pace of the sidecars. */
  readonly poll?: (signal: AbortSignal) => Promise<EarlyEnd | undefined>
  readonly begun?: (signal: AbortSignal) => Promise<EarlyEnd | undefined>
  /** Called as soon as a reason to end is detected. */
  readonly onEnd?: (end: EarlyEnd) => void
  /** The time in which the load may retry to begin. */
  readonly beginWithinMs: number
}

const TICK_MS = 100
const RETRY_MS = 250

/** Runs the load of a phase and its checks. */
export function runPhase(context: Context, spec: PhaseSpec) {
  return new PhaseRun(context, spec).run()
}

class PhaseRun {
  readonly #context: Context
  readonly #spec: PhaseSpec
  readonly #ending = new AbortController()
  readonly #draining = new AbortController()
  /** Aborted when the phase ends, or the experiment. */
  readonly #stop: AbortSignal
  /** The checks beside the load, which are awaited after it; the last is `begun`. */
  #checks: readonly Promise<void>[] = []
  /** The first error of a check, which ends the load. */
  #failure: unknown
  #running: RunningLoad | undefined
  #end: EarlyEnd | undefined
  #isEnough = false

  constructor(context: Context, spec: PhaseSpec) {
    this.#context = context
    this.#spec = spec
    this.#stop = AbortSignal.any([context.stop, this.#ending.signal])
  }

  async run() {
    const resultOf = resultMaker(this.#context, this.#spec.label)
    try {
      const result = await this.#load()
      await this.#checks.at(-1)
      if (this.#failure !== undefined) throw this.#failure
      const isEnough = this.#isEnough && this.#end === undefined && !this.#context.stop.aborted
      const complete = result.run.complete || isEnough
      const load = { ...result, run: { ...result.run, complete } }
      const { endpoint, called } = this.#running!
      return { result: resultOf(load), end: this.#end, tools: endpoint.tools, called }
    } catch (error) {
      if (!isUnstarted(error)) throw error
      this.#endWith({ code: 'TARGET_LOST', why: `the load failed to start: ${error.message}` })
      return { result: resultOf(), end: this.#end, tools: [], called: [] }
    } finally {
      this.#ending.abort()
      await Promise.all(this.#checks)
    }
  }

  /** Runs the load, and tries for a time to begin it. */
  async #load(): Promise<LoadResult> {
    const { durationMs, beginWithinMs } = this.#spec
    const stop = this.#stop
    const either = AbortSignal.any([stop, this.#draining.signal])
    const hooks = { stop: either, cut: stop, endWait: stop, begun: this.#begun }
    const options = phaseLoad(this.#context, durationMs)
    const until = performance.now() + beginWithinMs
    // The first attempt may have failed because this process stood still.
    for (let attempt = 1; ; attempt++) {
      try {
        return (await runLoad(options, hooks)).result
      } catch (error) {
        const isOver = attempt > 1 && performance.now() > until
        if (!isUnstarted(error) || isOver || stop.aborted) throw error
        await sleep(RETRY_MS, undefined, { signal: stop }).catch(() => {})
      }
    }
  }

  readonly #begun = (run: RunningLoad): void => {
    const { poll = findNothing, begun = findNothing } = this.#spec
    const stop = this.#stop
    const meter = new LoadMeter(run.recorder)
    this.#running = run
    const checks = [
      every(TICK_MS, stop, async () => this.#tick(run, meter)),
      every(this.#context.sidecars.paces.pollMs, stop, async () => this.#endWith(await poll(stop))),
      begun(stop).then((end) => this.#endWith(end)),
    ]
    const fail = (error: unknown): void => {
      this.#failure ??= error
      this.#ending.abort()
    }
    this.#checks = checks.map((check) => check.catch(fail))
  }

  #tick({ recorder }: RunningLoad, meter: LoadMeter): void {
    const { probe, samplers } = this.#context
    const { durationMs, tick } = this.#spec
    const extras = samplers.measured()
    const load = { ...meter.measured(), ...extras }
    const steady = { ...(probe?.measured() ?? load), ...extras }
    const found = tick({
      at: performance.now(),
      load,
      steady,
      calls: recorder.counts.calls,
      draining: recorder.timeline.elapsedMs >= durationMs || this.#draining.signal.aborted,
      timeline: () => recorder.timeline.timeline(),
    })
    this.#isEnough ||= found === 'enough' || found === 'drain'
    if (found === 'enough') this.#ending.abort()
    else if (found === 'drain') this.#draining.abort()
    else this.#endWith(found ?? samplers.lost(performance.now()))
  }

  #endWith(found: EarlyEnd | undefined): void {
    if (found === undefined || this.#end !== undefined || this.#stop.aborted) return
    this.#end = found
    this.#spec.onEnd?.(found)
    this.#ending.abort()
  }
}

const findNothing = async (): Promise<undefined> => undefined

/** Returns true when a load did not begin, which a later attempt may. */
function isUnstarted(error: unknown): error is LoadError {
  return error instanceof LoadError && !(error instanceof ToolsNotNamedError)
}

/** Returns a function that makes the result of a phase, which begins now. */
function resultMaker({ probe, samplers }: Context, label: string) {
  const startedAt = new Date().toISOString()
  const began = performance.now()
  return (load?: LoadResult): PhaseResult => {
    const own = probe?.measured(began) ?? measuredOf(load)
    const measured = { ...own, ...samplers.measured(began) }
    const durationMs = Math.round(performance.now() - began)
    return { label, startedAt, durationMs, measured, ...(load && { load }) }
  }
}
