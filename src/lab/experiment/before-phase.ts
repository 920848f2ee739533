import { AbortWatch } from './abort-watch.ts'
import { ToolsNotNamedError } from '../load/choose-tools.ts'
import type { PhaseResult } from './experiment-result.ts'
import { runPhase } from './phase.ts'
import { phaseLoad } from './phase-load.ts'
import { rejectionError, RejectedError } from './rejection.ts'
import { matchNothing } from './rules-reach.ts'
import type { Context } from './context.ts'
import { brokenWords } from './steadiness.ts'

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
      const elapsedMs = at - began
      onEvent({
        kind: 'moment',
        elapsedMs,
        durationMs,
        calls,
        measured: steady,
        applied: undefined,
      })
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
