import { setTimeout as sleep } from 'node:timers/promises'
import { durationText, quoted } from '#base'
import { every } from '../every.ts'
import type { AlertResult, EarlyEnd } from '../experiment-result.ts'
import { type Rejection, RejectedError } from '../rejection.ts'
import { type AlertAccess, type AlertSpec, askAlert } from './alert-source.ts'
import { MonitorError } from '#protocol'

/** The pause between two requests. */
const PAUSE_MS = 1000
/** The time without a response after which the monitoring is lost. */
export const MONITOR_LOST_MS = 15_000

type RequestHeaders = AlertAccess['headers']

/** The history of an alert, in times of `performance.now()`. */
interface AlertState {
  readonly spec: AlertSpec
  /** The last request that found the alert silent before it fired. */
  silentAt: number
  firedAt: number | undefined
  startsAt: string | undefined
  resolvedAt: number | undefined
  /** The last request that got a response. */
  askedAt: number
}

/** Follows the alerts that an experiment expects. */
export class AlertWatch {
  readonly #states: readonly AlertState[]
  readonly #headers: RequestHeaders
  readonly #closing = new AbortController()
  readonly #lostMs: number
  #running: Promise<void> | undefined
  #problem = ''

  constructor(specs: readonly AlertSpec[], headers: RequestHeaders = {}, lostMs = MONITOR_LOST_MS) {
    this.#headers = headers
    this.#lostMs = lostMs
    this.#states = specs.map((spec) => ({
      spec,
      silentAt: -Infinity,
      firedAt: undefined,
      startsAt: undefined,
      resolvedAt: undefined,
      askedAt: performance.now(),
    }))
  }

  /** The longest time limit for an alert to fire; 0 without alerts. */
  get withinMs(): number {
    return Math.max(0, ...this.#states.map(({ spec }) => spec.withinMs))
  }

  /** The longest time limit for an alert to resolve; 0 without one. */
  get resolvedMs(): number {
    return Math.max(0, ...this.#states.map(({ spec }) => spec.resolvedMs ?? 0))
  }

  get allFired(): boolean {
    return this.#states.every(({ firedAt }) => firedAt !== undefined)
  }

  /** Begins to ask for the alerts: those that fired before do not count. */
  start(): void {
    if (this.#states.length === 0) return
    for (const state of this.#states) state.askedAt = performance.now()
    this.#running ??= every(PAUSE_MS, this.#closing.signal, () => this.look())
  }

  /** Asks for all alerts once. */
  async look(): Promise<void> {
    await Promise.all(this.#states.map((state) => this.#ask(state)))
  }

  /**
   * Asks until each alert has fired, or was silent after all time limits. Returns the reason why it
   * is unknown if one fired.
   */
  async decide(began: number, stop: AbortSignal): Promise<EarlyEnd | undefined> {
    const overAt = began + this.withinMs
    const open = (): AlertState | undefined =>
      this.#states.find(({ firedAt, askedAt }) => firedAt === undefined && askedAt < overAt)
    while (open() !== undefined && !stop.aborted) {
      const leftMs = overAt - performance.now()
      if (leftMs <= 0) await this.look()
      if (open() === undefined || this.lost(performance.now()) !== undefined) break
      const pauseMs = leftMs > 0 ? Math.ceil(leftMs) : PAUSE_MS
      await sleep(pauseMs, undefined, { signal: stop }).catch(() => {})
    }
    return this.#lostOf(open())
  }

  /** Returns the reason to end when the monitoring no longer responds. */
  lost(now: number): EarlyEnd | undefined {
    return this.#lostOf(this.#states.find(({ askedAt }) => now - askedAt > this.#lostMs))
  }

  /**
   * Returns the reason why monitoring did not notice the stage that began at a time; undefined when
   * all alerts fired in time, or may still fire. Call `decide` first when the time limits have
   * passed.
   */
  unnoticed(began: number): EarlyEnd | undefined {
    const late = this.#states.filter(({ spec, silentAt }) => silentAt >= began + spec.withinMs)
    if (late.length === 0) return undefined
    const texts = late.map(
      ({ spec }) =>
        `the alert ${quoted(spec.name)} did not fire within ${durationText(spec.withinMs)}`,
    )
    return { code: 'UNNOTICED', why: texts.join('; ') }
  }

  /**
   * Returns true when each alert that must resolve has resolved since the rollback, or its time is
   * over.
   */
  isDecided(rollbackAt: number): boolean {
    const open = new Set(this.unresolved(rollbackAt))
    return this.#states.every(
      ({ spec: { name, resolvedMs = 0 }, askedAt }) =>
        !open.has(name) || askedAt > rollbackAt + resolvedMs,
    )
  }

  /** Returns the names of alerts that must resolve and have not since the rollback. */
  unresolved(rollbackAt: number): readonly string[] {
    return this.#states
      .filter(({ spec: { resolvedMs }, firedAt, resolvedAt, askedAt }) => {
        if (resolvedMs === undefined || firedAt === undefined) return false
        if (resolvedAt === undefined || askedAt < rollbackAt) return true
        return resolvedAt > rollbackAt + resolvedMs + PAUSE_MS
      })
      .map(({ spec }) => spec.name)
  }

  /** Returns the results; `sinceInjection` measures from the start of a stage. */
  results(sinceInjection: (at: number) => number | undefined): readonly AlertResult[] {
    return this.#states.map(({ spec, firedAt, startsAt, resolvedAt }) => {
      const detectMs = firedAt === undefined ? undefined : sinceInjection(firedAt)
      const recovered =
        detectMs !== undefined && resolvedAt !== undefined
          ? detectMs + (resolvedAt - firedAt!)
          : undefined
      return {
        name: spec.name,
        monitor: spec.monitor,
        withinMs: spec.withinMs,
        resolvedWithinMs: spec.resolvedMs ?? null,
        startsAt: startsAt ?? null,
        mttdMs: detectMs === undefined ? null : Math.round(detectMs),
        mttrMs: recovered === undefined ? null : Math.round(recovered),
      }
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #ask(state: AlertState): Promise<void> {
    const began = performance.now()
    const access = { headers: this.#headers, signal: this.#closing.signal }
    let report: Awaited<ReturnType<typeof askAlert>>
    try {
      report = await askAlert(state.spec, access)
    } catch (error) {
      if (!(error instanceof MonitorError)) throw error
      this.#problem = error.message
      return
    }
    // Requests overlap: an older response changes nothing.
    if (began < state.askedAt) return
    state.askedAt = began
    const now = performance.now()
    if (!report.firing) {
      if (state.firedAt === undefined) state.silentAt = began
      else state.resolvedAt ??= now
      return
    }
    state.firedAt ??= now
    state.startsAt ??= report.startsAt
    state.resolvedAt = undefined
  }

  #lostOf(state: AlertState | undefined): EarlyEnd | undefined {
    if (state === undefined) return undefined
    return { code: 'MONITOR_LOST', why: `${state.spec.monitor} did not respond: ${this.#problem}` }
  }
}

/** Checks before the first stage that no alert fires. Throws a `RejectedError` with all reasons. */
export async function checkSilent(specs: readonly AlertSpec[], headers: RequestHeaders = {}) {
  const found = await Promise.all(specs.map((spec) => firingRejection(spec, headers)))
  const rejections = found.filter((each) => each !== undefined)
  if (rejections.length > 0) throw new RejectedError(...rejections)
}

async function firingRejection(
  spec: AlertSpec,
  headers: RequestHeaders,
): Promise<Rejection | undefined> {
  const path = ['expect', 'alert']
  try {
    const { firing, pending } = await askAlert(spec, { headers })
    if (!firing && !pending) return undefined
    return {
      code: 'ALERT_ALREADY_FIRES',
      wrong: `the alert ${quoted(spec.name)} ${firing ? 'fires' : 'is pending'} before the experiment`,
      fix: 'resolve its cause, or add labels that select another alert',
      path,
    }
  } catch (error) {
    if (!(error instanceof MonitorError)) throw error
    return {
      code: 'MONITOR_UNREACHABLE',
      wrong: `${spec.monitor} at ${spec.url.origin} cannot be read: ${error.message}`,
      fix: `check expect.alert.${spec.monitor}, and --monitor-token-file where a token is required`,
      path,
    }
  }
}
