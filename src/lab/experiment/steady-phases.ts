import { AbortWatch, anyBroken, brokenWords } from './gate.ts'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import { type EarlyEnd, INTERRUPTED, type PhaseResult, RULES_CHANGED } from './experiment-result.ts'
import { phaseLoad, runPhase } from './phase.ts'
import { RejectedError, rejectionError } from './rejection.ts'
import { matchNothing } from './plan-rejections.ts'
import type { Context } from './context.ts'
import { ACTIVATION_MS } from './arming.ts'
import { sidecarPoll } from './sidecar-admin.ts'

const BEGIN_MS = 1000

export interface Before {
  readonly phase: PhaseResult
  /** The names of the read-only tools of the server. */
  readonly tools: readonly string[]
  /** The names of the called tools. */
  readonly called: readonly string[]
}

/** Checks the steady state before the stages. Throws a `RejectedError` when it does not hold. */
export async function runBeforePhase(context: Context): Promise<Before> {
  const { plan, probe, stop, onEvent } = context
  const durationMs = plan.file.steadyState.for
  const began = performance.now()
  onEvent({ kind: 'phase', label: 'steady state before', durationMs })
  const aborts = new AbortWatch(plan.aborts)
  const { result, end, tools, called } = await runPhase({
    label: 'before',
    load: phaseLoad(plan, context, durationMs),
    probe,
    stop,
    beginWithinMs: BEGIN_MS,
    onEnd: () => {},
    tick: ({ at, load, steady, calls, draining }) => {
      const moment = { elapsedMs: at - began, durationMs, calls, measured: steady }
      onEvent({ kind: 'moment', ...moment, applied: undefined })
      const breach = draining ? undefined : aborts.add(load, at)
      if (breach === undefined) return undefined
      return { code: 'ABORT_CONDITION', why: `${breach.gate} without any fault`, breach }
    },
  }).catch(rejectUnnamed)
  const readers = tools.filter(({ hint }) => hint === 'reads').map(({ name }) => name)
  const before = { phase: result, tools: readers, called }
  if (stop.aborted) return before
  if (end?.code === 'TARGET_LOST') {
    throw rejectionError(
      'TARGET_UNUSABLE',
      `the target cannot be called: ${end.why}`,
      'check target.url',
    )
  }
  const wrong = end === undefined ? brokenWords(plan.steady, result.measured) : [end.why]
  if (wrong.length > 0) {
    throw rejectionError(
      'NOT_STEADY',
      `not in steady state before anything was done: ${wrong.join('; ')}`,
      'find out what is wrong, or let steadyState say what is normal',
    )
  }
  const nothing =
    plan.rules === undefined
      ? undefined
      : matchNothing(plan.rules, called, plan.file.target.headers ?? {})
  if (nothing !== undefined) throw new RejectedError(nothing)
  onEvent({ kind: 'phase-over', label: 'steady state before', text: 'holds' })
  return before
}

function rejectUnnamed(error: unknown): never {
  if (!(error instanceof ToolsNotNamedError)) throw error
  const fix = `name in the plan what may be called: load: { tools: [${error.names}] }`
  throw rejectionError('TOOLS_NOT_NAMED', error.wrong, fix)
}

export interface After {
  readonly phase: PhaseResult
  readonly steady: boolean
  /** The reason why the phase proves nothing: the rules differed from those before the stages. */
  readonly end: EarlyEnd | undefined
}

/** Waits for the steady state after the stages, as long as the plan allows. */
export async function runAfterPhase(context: Context): Promise<After> {
  const { plan, probe, stop, onEvent, steadiness } = context
  const { for: forMs, within } = plan.file.steadyState
  const began = performance.now()
  onEvent({ kind: 'phase', label: 'steady state after', durationMs: within })
  let steady = false
  // Before the withdrawal, a steady moment may be one without an injected fault.
  let withdrawnAt = Infinity
  const { result, end } = await runPhase({
    label: 'after',
    load: phaseLoad(plan, context, within),
    probe,
    stop,
    // A killed process may still be down.
    beginWithinMs: within,
    onEnd: () => {},
    poll: withdrawal(context, (at) => (withdrawnAt = at)),
    tick: ({ at, steady: measured, calls }) => {
      const moment = { elapsedMs: at - began, durationMs: within, calls, measured }
      onEvent({ kind: 'moment', ...moment, applied: undefined })
      steadiness.add(at, anyBroken(plan.steady, measured))
      steady = steadiness.steadyForMs(withdrawnAt, at) >= forMs
      return steady ? 'enough' : undefined
    },
  })
  const text = steady ? 'holds' : 'does not hold'
  onEvent({ kind: 'phase-over', label: 'steady state after', text })
  return { phase: result, steady, end: steady ? undefined : reasonOf(end, stop) }
}

function reasonOf(end: EarlyEnd | undefined, stop: AbortSignal): EarlyEnd | undefined {
  if (stop.aborted) return INTERRUPTED
  // A target that cannot be called has not recovered.
  return end?.code === 'TARGET_LOST' ? undefined : end
}

/** Checks that the sidecar returns to the previous rules and keeps them. */
function withdrawal(
  { plan, arming, activationMs = ACTIVATION_MS }: Context,
  report: (at: number) => void,
): (signal: AbortSignal) => Promise<EarlyEnd | undefined> {
  const until = performance.now() + activationMs
  let withdrawn = false
  return sidecarPoll(plan.admin, ({ rules }) => {
    const now = performance.now()
    const found = arming.afterWithdrawal(rules.digest)
    if (found === 'of others') return RULES_CHANGED
    if (found === 'not yet' && now > until) {
      return { code: 'NOT_ACTIVE', why: 'the sidecar did not go back to the rules of before' }
    }
    if (found === 'withdrawn' && !withdrawn) report(now)
    withdrawn ||= found === 'withdrawn'
    return undefined
  })
}
