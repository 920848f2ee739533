import type { LoadTarget } from '../load/load-options.ts'
import { ruleNames } from './armed-rules.ts'
import { type Lock, takeLock } from './lock.ts'
import type { ReplacedRules } from './sidecars.ts'
import { randomBytes } from 'node:crypto'
import { Arming } from './arming.ts'
import { AlertWatch } from './monitor/alert-watch.ts'
import { Samplers } from './monitor/samplers.ts'
import { runAfterPhase, runBeforePhase } from './steady-phases.ts'
import type { Context, ExperimentOptions } from './context.ts'
import type { ExperimentResult, PhaseResult } from './experiment-result.ts'
import { experimentResult } from './finish.ts'
import { type Preflight, preflight, type PreflightOptions } from './preflight.ts'
import { measuredOf } from './phase.ts'
import type { Plan } from './plan.ts'
import { Probe } from './probe.ts'
import {
  allAccepted,
  type Rejection,
  RejectedError,
  rejectionError,
  RulesChangedError,
} from './rejection.ts'
import { runStages } from './stages.ts'
import { Steadiness, withBaseline } from './gate.ts'
import { Timeline } from './timeline.ts'

/** Runs an experiment. Throws a `RejectedError` when the experiment may not begin. */
export async function runExperiment(options: ExperimentOptions): Promise<ExperimentResult> {
  const { plan, stateDirectory } = options
  const id = newId(new Date())
  const lock = await takeLock(stateDirectory, plan.target, id)
  try {
    return await locked(options, id, lock)
  } finally {
    await lock.release()
  }
}

async function locked(asked: ExperimentOptions, id: string, lock: Lock): Promise<ExperimentResult> {
  const timeline = new Timeline()
  const onEvent: ExperimentOptions['onEvent'] = (event) => {
    timeline.add(event)
    asked.onEvent(event)
  }
  const options = { ...asked, onEvent }
  const { plan, sidecars, stop, version } = options
  const { activationMs = sidecars.paces.activationMs } = options
  const dead = await sidecars.recover(lock.dead)
  if (dead !== undefined) {
    onEvent({
      kind: 'note',
      text: `the experiment ${dead} died: its ${sidecars.rulesName} is restored`,
    })
  }
  const [{ state, suspended }, rules] = await mayBegin(options, id, dead ?? lock.dead?.id)
  if (rules.backup !== undefined) await lock.note(rules.backup.path, rules.backup.previous)
  const arming = new Arming(plan, id, {
    sidecars,
    rules,
    aheadMs: state.aheadMs,
    activationMs,
    before: state.rules.digest,
    suspended,
  })
  const onStop = (): void => void arming.restore().catch(() => {})
  stop.addEventListener('abort', onStop, { once: true })
  const target = { url: plan.target, client: 'lean', headers: allHeaders(options) } as const
  const probe = plan.file.steadyState.probe === 'load' ? undefined : new Probe(target, version)
  const names = new Set(ruleNames(plan))
  const steadiness = new Steadiness()
  const alerts = alertWatch(options)
  const samplers = samplersOf(options, target)
  const first: Context = { ...options, id, arming, probe, steadiness, alerts, samplers, names }
  const startedAt = new Date()
  try {
    await samplers.start()
    if (!stop.aborted) await claim(arming, stop)
    const { phase: before, tools, called } = await runBeforePhase(first)
    const context = { ...first, called, plan: measuredPlan(plan, before) }
    const stages = await runStages(context)
    const withdrawn = await arming.withdraw()
    onEvent({ kind: 'rolled-back', restored: withdrawn })
    // Under the rules of another program the result would prove nothing.
    const after = withdrawn && !stop.aborted ? await runAfterPhase(context) : undefined
    const restored = await arming.restore()
    return experimentResult(context, {
      startedAt,
      before,
      tools,
      stages,
      restored,
      after,
      timeline,
    })
  } finally {
    stop.removeEventListener('abort', onStop)
    await arming.restore()
    await alerts.close()
    await samplers.close()
    await probe?.close()
  }
}

/** Returns the reasons not to begin that are known without the lock and without a change. */
export async function moreRejections(options: PreflightOptions): Promise<readonly Rejection[]> {
  try {
    await mayBegin(options, '', undefined)
    return []
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    // Only the holder of the lock knows whether the process behind a claim is dead.
    return error.rejections.filter(({ code }) => code !== 'EXPERIMENT_RUNNING')
  }
}

function mayBegin(
  options: PreflightOptions,
  id: string,
  dead: string | undefined,
): Promise<[Preflight, ReplacedRules, ...unknown[]]> {
  const { sidecars } = options
  return allAccepted(
    preflight(options, dead),
    sidecars.open(id),
    sidecars.killing?.check(),
    alertWatch(options).check(),
  )
}

/** Returns the plan with limits in place of multiples of the values before the stages. */
function measuredPlan(plan: Plan, { measured, load }: PhaseResult): Plan {
  const called = load === undefined ? measured : measuredOf(load)
  return {
    ...plan,
    steady: withBaseline(plan.steady, measured),
    aborts: withBaseline(plan.aborts, called),
    expected: withBaseline(plan.expected, called),
  }
}

function alertWatch({ plan, monitorHeaders = {}, monitorLostMs }: PreflightOptions): AlertWatch {
  return new AlertWatch(plan.alerts, monitorHeaders, monitorLostMs)
}

function samplersOf(
  { plan, version, sidecars, monitorHeaders: headers = {}, monitorLostMs }: ExperimentOptions,
  target: LoadTarget,
): Samplers {
  const { processes } = sidecars
  const access = { target, version, headers, lostMs: monitorLostMs, processes }
  return new Samplers(plan.samplers, access)
}

/** Writes the claim, so that the later of two experiments that begin at once fails. */
async function claim(arming: Arming, stop: AbortSignal): Promise<void> {
  try {
    await arming.arm(undefined, stop)
  } catch (error) {
    if (!(error instanceof RulesChangedError)) throw error
    throw rejectionError('EXPERIMENT_RUNNING', 'another program changes the rules', 'try again')
  }
}

function allHeaders({ plan, headers }: ExperimentOptions): Readonly<Record<string, string>> {
  return { ...plan.file.target.headers, ...headers }
}

/** Returns an id that sorts by time and is short enough for the name of a rule. */
export function newId(now: Date): string {
  const [day = '', time = ''] = now.toISOString().split('T')
  const digits = `${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`
  return `${digits}-${randomBytes(3).toString('hex')}`
}
