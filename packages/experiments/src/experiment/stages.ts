import { AdminError } from '#admin-api'
import { Observations, unexpectedErrors } from './expectations.ts'
import { type HeldSessions, holdSessions } from './held-sessions.ts'
import { AbortWatch, anyFails, type FailedGate, fails, measuredOf, shownMeasure } from './gate.ts'
import {
  type EarlyEnd,
  INTERRUPTED,
  isFailure,
  RULES_CHANGED,
  type StageResult,
} from './experiment-result.ts'
import { type Moment, runPhase } from './phase.ts'
import type { Plan, Stage } from './plan.ts'
import { RejectedError, RulesChangedError } from './rejection.ts'
import type { Context, Stages } from './context.ts'
import { sidecarPoll } from './sidecar-admin.ts'
import { type Counts, type Killing, type SidecarState, sumOf } from './sidecars.ts'
import { expectedText } from './experiment-tables.ts'
import { isUnready } from './steady-phases.ts'
import { narrowedPercent } from './armed-rules.ts'

/** Long enough for a target that is slow, or that restarts after a kill. */
const BEGIN_MS = 2000
/** By chance alone, one of 1,000 runs is inconclusive. */
const IMPROBABLE = 1 / 1000

/** Runs the stages until one fails. */
export async function runStages(context: Context): Promise<Stages> {
  const { plan, stop, alerts } = context
  alerts.start()
  const results: StageResult[] = []
  const aborts = new AbortWatch(plan.aborts)
  for (const [index, stage] of plan.stages.entries()) {
    if (stop.aborted) break
    const { result, end, rollbackMs } = await runStage(context, stage, index, aborts)
    if (result !== undefined) results.push(result)
    if (end !== undefined) return { results, end: { ...end, stage: stage.label }, rollbackMs }
  }
  if (!stop.aborted) return { results, end: undefined, rollbackMs: null }
  const stage = results.at(-1)?.label ?? null
  return { results, end: { ...INTERRUPTED, stage }, rollbackMs: null }
}

async function runStage(context: Context, stage: Stage, index: number, aborts: AbortWatch) {
  const { plan, arming, sidecars, stop, onEvent } = context
  const { label } = stage
  try {
    await arming.arm(stage, stop)
  } catch (error) {
    const end = stop.aborted ? undefined : notArmed(error)
    return { result: undefined, end, rollbackMs: null }
  }
  const checks = new StageChecks(context, index, aborts)
  const { durationMs } = checks
  onEvent({ kind: 'phase', label, stage: { index, count: plan.stages.length }, durationMs })
  let held: Promise<HeldSessions | undefined> | undefined
  let restartMs: number | null = null
  let rolledBack: Promise<number> | undefined
  const onEnd = (end: EarlyEnd): void => {
    const at = performance.now()
    rolledBack = arming.withdraw().then(() => performance.now() - at)
    // The rejection is reported where the promise is awaited.
    rolledBack.catch(() => {})
    onEvent({ kind: 'seen', end })
  }
  const running = runPhase(context, {
    label,
    durationMs,
    beginWithinMs: BEGIN_MS,
    tick: (moment) => checks.tick(moment),
    onEnd,
    poll: sidecarPoll(sidecars, (states, signal) => checks.poll(states, signal)),
    begun: async (signal) => {
      held = exhaust(context, signal)
      if ((await held)?.sessions === 0) return NOTHING_HELD
      if (sidecars.killing === undefined) return undefined
      const { end, ms } = await killOnce(context, sidecars.killing, index, signal)
      restartMs = ms
      return end
    },
  })
  await Promise.allSettled([running])
  await (await held)?.close()
  const phase = await running
  if (phase.end === undefined && !stop.aborted) await checks.count().catch(() => {})
  const result = { ...phase.result, ...samplesOf(plan, stage, checks.counts), restartMs }
  const end = await checks.endOf(result, phase.end)
  if (end !== undefined && rolledBack === undefined) onEnd(end)
  const text = end?.why ?? stageWords(result, stop.aborted ? 'interrupted, no verdict' : 'passed')
  onEvent({ kind: 'phase-over', label, text })
  return { result, end, rollbackMs: (await rolledBack) ?? null }
}

/** Checks a stage, from the activation of its rules to its end. */
class StageChecks {
  readonly durationMs: number
  counts: Counts = []
  readonly #context: Context
  readonly #aborts: AbortWatch
  readonly #isLast: boolean
  readonly #names: ReadonlySet<string>
  readonly #observations: Observations
  readonly #began = performance.now()
  /** True once the calls were enough to check the abort conditions continuously. */
  #watched = false

  constructor(context: Context, index: number, aborts: AbortWatch) {
    const { plan, alerts, steadiness } = context
    const { hold } = plan.file
    this.#context = context
    this.#aborts = aborts
    this.#names = new Set(plan.rules?.rules.map(({ name }) => name))
    this.#isLast = index === plan.stages.length - 1
    this.#observations = new Observations(this.#isLast ? plan.expected : [])
    // The alerts have their whole time to fire.
    this.durationMs = this.#isLast ? Math.max(hold, alerts.withinMs) : hold
    steadiness.injected(this.#began)
  }

  tick({ at, load, steady, calls, draining, timeline }: Moment): EarlyEnd | 'drain' | undefined {
    const { plan, onEvent, steadiness, alerts, endEarly } = this.#context
    const { durationMs } = this
    const elapsedMs = at - this.#began
    const { matched, applied } = sumOf(this.counts)
    onEvent({ kind: 'moment', elapsedMs, durationMs, calls, measured: load, applied })
    if (draining) return undefined
    this.#observations.add(load)
    const aborting = anyFails(plan.aborts, load)
    this.#watched ||= aborting !== undefined
    const isUnsteady = aborting === true || isUnready(this.#context)
    steadiness.add(at, isUnsteady || anyFails(plan.steady, steady))
    const failedGate = this.#aborts.add(load, at)
    if (failedGate !== undefined) return abortedBy(failedGate)
    // Without the counts of the sidecars a stage proves nothing.
    const early = matched > 0 ? endEarly?.(timeline) : undefined
    const isHeld = this.#isLast && elapsedMs >= plan.file.hold && elapsedMs < durationMs
    return alerts.lost(at) ?? early ?? (isHeld && alerts.allFired ? 'drain' : undefined)
  }

  /** Returns the reason to end that the sidecars report, or else updates the counts. */
  async poll(states: readonly SidecarState[], signal: AbortSignal): Promise<EarlyEnd | undefined> {
    const ended = states.map((state) => sidecarEnd(state, this.#context)).find(Boolean)
    if (ended === undefined) await this.count(signal)
    return ended
  }

  async count(signal?: AbortSignal): Promise<void> {
    const { sidecars } = this.#context
    this.counts = await sidecars.counts(this.#names, signal)
  }

  /** Returns the reason to end after the stage; `end` is the one that ended its load. */
  async endOf(result: StageResult, end: EarlyEnd | undefined): Promise<EarlyEnd | undefined> {
    const problem = (await unlessLost(this.#context, end)) ?? this.#problem(result)
    const isJudged = this.#isLast && !this.#context.stop.aborted
    return isJudged ? this.#noticed(problem, end === undefined) : problem
  }

  /** Returns the reason to stop after a completed stage, if there is one. */
  #problem(result: StageResult): EarlyEnd | undefined {
    const { plan, stop } = this.#context
    const { load, share, matched, applied } = result
    if (stop.aborted) return undefined
    if (load === undefined || load.counts.calls === 0) {
      return { code: 'NO_CALLS', why: 'no call completed' }
    }
    // With too few calls for continuous checks, the whole stage is checked.
    const whole = measuredOf(load)
    const failing = this.#watched ? undefined : plan.aborts.find((each) => fails(each, whole))
    if (failing !== undefined) {
      const { text: gate, measure } = failing
      return abortedBy(
        { gate, measure, measured: whole[measure] ?? null },
        ', over the whole stage',
      )
    }
    const failed = load.slo.find(({ ok }) => !ok)
    if (failed !== undefined) return { code: 'SLO', why: `${failed.gate} failed` }
    const unexpected = unexpectedErrors(load, plan.file.expect?.errors)
    if (unexpected !== undefined) return unexpected
    if (share !== null && applied === 0) {
      const why =
        matched === 0
          ? 'no call matched the rules: check that target.url points to the sidecar'
          : `no fault was injected into the ${matched} matched calls: increase load or hold`
      return { code: 'NO_INJECTIONS', why }
    }
    return this.#observations.missing() ?? improbable(result)
  }

  /** Returns the end of the last stage, which depends on the alerts. */
  async #noticed(end: EarlyEnd | undefined, isComplete: boolean): Promise<EarlyEnd | undefined> {
    const { alerts, stop } = this.#context
    if (end !== undefined && !isFailure(end)) return end
    const unknown = isComplete ? await alerts.decide(this.#began, stop) : undefined
    const unnoticed = alerts.unnoticed(this.#began)
    if (unnoticed !== undefined && end !== undefined) {
      return { ...end, ...unnoticed, why: `${unnoticed.why}; ${end.why}` }
    }
    return unnoticed ?? end ?? unknown
  }
}

function abortedBy(failedGate: FailedGate, when = ''): EarlyEnd {
  const { gate, measure, measured } = failedGate
  const why = `${gate}${when}: it is ${shownMeasure(measure, measured)}`
  return { code: 'ABORT_CONDITION', why, failedGate }
}

/** Blames no target for a sidecar of this machine that has ended, which a limit may see first. */
async function unlessLost({ plan, sidecars }: Context, end: EarlyEnd | undefined) {
  const isLocal = plan.sidecar.kind === 'local' && plan.file.kill === undefined
  if (!isLocal || end?.code !== 'ABORT_CONDITION') return end
  const why = `the sidecar did not respond; ${end.why}`
  const isLost = (error: unknown) => error instanceof AdminError && error.status === undefined
  const lost = await sidecars.states().then(() => false, isLost)
  return lost ? ({ ...end, code: 'SIDECAR_LOST', why } as const) : end
}

function samplesOf(plan: Plan, stage: Stage, counts: Counts) {
  const share = stage.share ?? null
  return { share, ...sumOf(counts), ...expectedSamples(plan, share, counts) }
}

function notArmed(error: unknown): EarlyEnd {
  if (error instanceof RulesChangedError) return RULES_CHANGED
  if (!(error instanceof RejectedError)) throw error
  return { code: 'NOT_ACTIVE', why: error.rejections[0]?.wrong ?? '' }
}

function notRenewed(error: unknown): EarlyEnd {
  if (error instanceof RulesChangedError || error instanceof RejectedError) return notArmed(error)
  return { code: 'NOT_ACTIVE', why: `the rules could not be renewed: ${(error as Error).message}` }
}

/** Returns the reason why a stage proves nothing that sampled far more or fewer calls than planned. */
function improbable(result: StageResult): EarlyEnd | undefined {
  const { sampled, considered, expected, chance: probability } = result
  if (typeof probability !== 'number' || probability >= IMPROBABLE) return undefined
  const why = `${sampled} of ${considered} calls were sampled${expectedText(expected)}, which is unlikely to be chance (p < 0.001): run the plan with another seed; if this repeats, check --max-percent of the sidecar`
  return { code: 'IMPROBABLE_SHARE', why }
}

const NOTHING_HELD: EarlyEnd = {
  code: 'NO_INJECTIONS',
  why: 'the server accepted none of the sessions that `exhaust` opens',
}

/** Opens the sessions of `exhaust`; undefined when the plan has none. */
async function exhaust(
  { plan, target, version, onEvent }: Context,
  signal: AbortSignal,
): Promise<HeldSessions | undefined> {
  const { exhaust: written } = plan.file
  if (written === undefined) return undefined
  const held = await holdSessions(target, version, written.sessions, signal)
  const { sessions, streams } = held
  const text = `${sessions} of ${written.sessions} sessions are open, ${streams} with a stream`
  onEvent({ kind: 'note', text })
  return held
}

async function killOnce(
  { plan, onEvent }: Context,
  killing: Killing,
  index: number,
  signal: AbortSignal,
): Promise<{ readonly end: EarlyEnd | undefined; readonly ms: number | null }> {
  const { restartWithin } = plan.file.kill!
  try {
    const { what, successor } = await killing.kill(index, plan.file.hold, signal)
    const at = performance.now()
    onEvent({ kind: 'note', text: `killed ${what}` })
    const next = await successor(restartWithin, signal)
    if (next !== undefined) {
      const ms = Math.round(performance.now() - at)
      onEvent({ kind: 'note', text: `${next} replaced it after ${ms} ms` })
      return { end: undefined, ms }
    }
    if (signal.aborted) return { end: undefined, ms: null }
    const why = `${what} was not replaced within ${restartWithin / 1000} s`
    return { end: { code: 'NOT_RESTARTED', why }, ms: null }
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    return { end: { code: 'NOT_RESTARTED', why: error.rejections[0]?.wrong ?? '' }, ms: null }
  }
}

function stageWords({ load, sampled, expected, applied, share }: StageResult, how: string): string {
  const calls = `${how}, ${load?.counts.calls ?? 0} calls`
  if (share === null) return calls
  return `${calls}, ${sampled} sampled${expectedText(expected)}, ${applied} injected`
}

/** Returns the reason why the sidecar no longer injects the faults of the stage, if any. */
function sidecarEnd(state: SidecarState, { arming, plan }: Context): EarlyEnd | undefined {
  const guard = state.reasons.find(({ by }) => by === 'guard' || by === 'rollback-on')
  if (guard !== undefined) {
    return { code: 'GUARD', why: `the sidecar disarmed: ${guard.reason}` }
  }
  if (arming.failure !== undefined) return notRenewed(arming.failure)
  if (!arming.isOurs(state.rules.digest)) return RULES_CHANGED
  if (!state.armed) {
    const who = state.reasons.map(({ by, reason }) => `${by}: ${reason}`).join(', ')
    return { code: 'DISARMED', why: `the sidecar is disarmed (${who})` }
  }
  if (state.environment?.toLowerCase() !== plan.file.target.environment?.toLowerCase()) {
    return { code: 'DISARMED', why: 'the environment of the sidecar has changed' }
  }
  return undefined
}

/** The share of these rules changes with time, or from call to call. */
const VARYING = ['burst', 'ramp', 'stages']

/** Returns the mean of the sampled calls, and the probability of their difference from it. */
function expectedSamples(
  { rules, by }: Pick<Plan, 'rules' | 'by'>,
  share: number | null,
  counts: Counts,
): Required<Pick<StageResult, 'expected' | 'chance'>> {
  const counted = (rules?.rules ?? []).map((rule) => {
    const { sampled, considered } = sumOf(counts.filter(([name]) => name === rule.name))
    const p = narrowedPercent(rule, by, share ?? 0) / 100
    const isFixed = share !== null && !VARYING.some((key) => key in rule)
    // Calls that share a key are sampled together.
    const isTested = isFixed && (rule['stickyBy'] ?? 'ordinal') === 'ordinal'
    return { isFixed, mean: considered * p, chance: isTested ? chance(sampled, considered, p) : 1 }
  })
  const isFixed = counted.length > 0 && counted.every((each) => each.isFixed)
  return {
    expected: isFixed ? counted.reduce((sum, { mean }) => sum + mean, 0) : null,
    // One of several tests is more often improbable.
    chance: isFixed ? Math.min(1, ...counted.map((each) => each.chance * counted.length)) : null,
  }
}

/** Returns the two-sided probability of at least this distance from the mean of a binomial. */
export function chance(sampled: number, calls: number, p: number): number {
  const mean = calls * p
  if (p <= 0 || p >= 1) return sampled === mean ? 1 : 0
  const isAbove = sampled >= mean
  const odds = p / (1 - p)
  const ways = logFactorial(calls) - logFactorial(sampled) - logFactorial(calls - sampled)
  let term = Math.exp(ways + sampled * Math.log(p) + (calls - sampled) * Math.log(1 - p))
  let tail = 0
  // The terms fall from here to the end of the tail.
  for (let k = sampled; term > tail * 1e-9; k += isAbove ? 1 : -1) {
    tail += term
    term *= isAbove ? ((calls - k) / (k + 1)) * odds : k / (calls - k + 1) / odds
  }
  return Math.min(1, 2 * tail)
}

/** Approximates by the series of Stirling, to four digits at least. */
function logFactorial(n: number): number {
  const x = n + 1
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + 1 / (12 * x)
}
