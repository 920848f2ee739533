import { AbortWatch, anyFails, failureTexts } from './gate.ts'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import { type EarlyEnd, INTERRUPTED, RULES_CHANGED } from './experiment-result.ts'
import { runPhase } from './phase.ts'
import { RejectedError, rejectionError } from './rejection.ts'
import { destructiveRejections, matchNothing } from './plan-rejections.ts'
import type { ErrorCount } from '../load/results/result.ts'
import type { Context } from './context.ts'
import { checkSilent } from './monitor/alert-watch.ts'
import { sidecarPoll } from './sidecar-admin.ts'

const BEGIN_MS = 1000

/** Checks the steady state before the stages. Throws a `RejectedError` when it fails. */
export async function runBeforePhase(context: Context) {
  const { plan, stop, onEvent } = context
  const durationMs = plan.file.steadyState.for
  const began = performance.now()
  onEvent({ kind: 'phase', label: 'steady state before', durationMs })
  const aborts = new AbortWatch(plan.aborts)
  const { result, end, tools, called } = await runPhase(context, {
    label: 'before',
    durationMs,
    beginWithinMs: BEGIN_MS,
    tick: ({ at, load, steady, calls, draining }) => {
      const moment = { elapsedMs: at - began, durationMs, calls, measured: steady }
      onEvent({ kind: 'moment', ...moment, applied: undefined })
      const failedGate = draining ? undefined : aborts.add(load, at)
      if (failedGate === undefined) return undefined
      return {
        code: 'ABORT_CONDITION',
        why: `${failedGate.gate} before any fault was injected`,
        failedGate,
      }
    },
  }).catch(rejectUnnamed)
  // The names of the read-only tools of the server, and of the called tools.
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
  const wrong = end === undefined ? failureTexts(plan.steady, result.measured) : [end.why]
  if (wrong.length > 0) throw notSteady(wrong, result.load?.errors[0])
  const nothing =
    plan.rules === undefined ? undefined : matchNothing(plan.rules, called, plan.file.target)
  if (nothing !== undefined) throw new RejectedError(nothing)
  const destructive = destructiveRejections(plan, tools)
  if (destructive.length > 0) throw new RejectedError(...destructive)
  // Until now an alert may have begun to fire.
  await checkSilent(plan.alerts, context.monitorHeaders)
  onEvent({ kind: 'phase-over', label: 'steady state before', text: 'passed' })
  return before
}

function notSteady(wrong: readonly string[], error: ErrorCount | undefined): RejectedError {
  const { kind, code, count, samples: [sample] = [] } = error ?? {}
  const message = sample === undefined ? '' : ` (${sample.message})`
  const most = `most frequent error: ${count} × ${kind}${code === undefined ? '' : ` ${code}`}${message}`
  const all = [...wrong, ...(error === undefined ? [] : [most])].join('; ')
  const affinity = 'set sessionAffinity: ClientIP on a Service with several pods'
  return rejectionError(
    'NOT_STEADY',
    `the target is not in steady state before the first stage: ${all}`,
    `${code === 404 ? `${affinity}, ` : ''}fix the target, or adjust steadyState to its normal operation`,
  )
}

function rejectUnnamed(error: unknown): never {
  if (!(error instanceof ToolsNotNamedError)) throw error
  const fix = `name the tools in the plan: load: { tools: [${error.names}] }`
  throw rejectionError('TOOLS_NOT_NAMED', error.wrong, fix)
}

/**
 * Waits for the steady state after the stages, as long as the plan allows. Its `end` is the reason why
 * it is inconclusive: it ended early, or its rules differed from those before the stages.
 */
export async function runAfterPhase(context: Context) {
  const { plan, stop, onEvent, steadiness, alerts } = context
  const { for: forMs, within } = plan.file.steadyState
  const durationMs = Math.max(within, alerts.resolvedMs)
  const began = performance.now()
  onEvent({ kind: 'phase', label: 'steady state after', durationMs })
  let steady = false
  // Before the withdrawal, a moment without an injection looks steady.
  let withdrawnAt = Infinity
  const { result, end } = await runPhase(context, {
    label: 'after',
    durationMs,
    // A killed process may still be down.
    beginWithinMs: within,
    poll: withdrawal(context, (at) => (withdrawnAt = at)),
    tick: ({ at, steady: measured, calls }) => {
      const elapsedMs = at - began
      const moment = { elapsedMs, durationMs, calls, measured }
      onEvent({ kind: 'moment', ...moment, applied: undefined })
      steadiness.add(at, isUnready(context) || anyFails(plan.steady, measured))
      // Once steady, the phase waits for the alerts alone.
      steady ||= steadiness.steadyForMs(withdrawnAt) >= forMs
      if (steady ? alerts.isDecided(began) : elapsedMs > within) return 'enough'
      return alerts.lost(at)
    },
  })
  const unresolved = alerts.unresolved(began)
  const judged = steady && unresolved.length === 0 ? 'passed' : 'failed'
  const text = stop.aborted ? 'interrupted, no verdict' : judged
  onEvent({ kind: 'phase-over', label: 'steady state after', text })
  const isOver = steady && (unresolved.length === 0 || end === undefined)
  return { phase: result, steady, unresolved, end: isOver ? undefined : reasonOf(end, stop) }
}

function reasonOf(end: EarlyEnd | undefined, stop: AbortSignal): EarlyEnd | undefined {
  if (stop.aborted) return INTERRUPTED
  // A target that cannot be called has not recovered.
  return end?.code === 'TARGET_LOST' ? undefined : end
}

/** Returns true when fewer pods are ready than the steady state needs. */
export function isUnready({ plan, sidecars }: Pick<Context, 'plan' | 'sidecars'>): boolean {
  const { ready = 0 } = plan.file.steadyState
  return sidecars.ready !== undefined && sidecars.ready < ready
}

/** Returns a poll that checks that the sidecars return to the previous rules and keep them. */
function withdrawal(
  { sidecars, arming }: Context,
  report: (at: number) => void,
): (signal: AbortSignal) => Promise<EarlyEnd | undefined> {
  const until = performance.now() + sidecars.paces.activationMs
  let withdrawn = false
  return sidecarPoll(sidecars, (states) => {
    const now = performance.now()
    const found = states.map(({ rules }) => arming.afterWithdrawal(rules.digest))
    if (found.includes('foreign')) return RULES_CHANGED
    if (found.includes('pending') && now > until) {
      return { code: 'NOT_ACTIVE', why: 'a sidecar did not return to the previous rules' }
    }
    if (withdrawn || found.includes('pending')) return undefined
    withdrawn = true
    report(now)
    return undefined
  })
}
