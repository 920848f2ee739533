import { CLAIM_PREFIX } from './armed-rules.ts'
import { type Lock, takeLock } from './lock.ts'
import type { ReplacedRules, Sidecars, SidecarState } from './sidecars.ts'
import { type ArmedSidecars, Arming } from './arming.ts'
import { AlertWatch, checkSilent } from './monitor/alert-watch.ts'
import { Samplers } from './monitor/samplers.ts'
import { runAfterPhase, runBeforePhase, isUnready } from './steady-phases.ts'
import type { Context, ExperimentOptions } from './context.ts'
import type { ExperimentResult, PhaseResult } from './experiment-result.ts'
import { experimentResult } from './finish.ts'
import type { Plan } from './plan.ts'
import { Probe } from './probe.ts'
import {
  allAccepted,
  type Rejection,
  RejectedError,
  rejectionError,
  RulesChangedError,
  distinct,
  podsUnreachable,
} from './rejection.ts'
import { newId } from './run-id.ts'
import { runStages } from './stages.ts'
import { measuredOf, Steadiness, withBaseline } from './gate.ts'
import { Timeline } from './timeline.ts'
import { AdminError, type Rule } from '#admin-api'
import { findProduction, type SourcedName } from '#rules'
import {
  needsTasks,
  needsVerdicts,
  START_WITH_TASKS,
  verdictGate,
  withoutTasks,
} from '../load/sidecar-tasks.ts'
import { firstProblem } from './sidecar-admin.ts'
import { productionRejection, shownTools } from './plan-rejections.ts'

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
  const { plan, stop } = options
  const arming = await openArming(options, id, lock)
  const onStop = (): void => void arming.restore().catch(() => {})
  stop.addEventListener('abort', onStop, { once: true })
  const watches = watchesOf(options)
  const first: Context = { ...options, ...watches, id, arming }
  const startedAt = new Date()
  try {
    await options.onBegin?.()
    await watches.samplers.start()
    if (!stop.aborted) await claim(arming, stop)
    const { phase: before, tools, called } = await runBeforePhase(first)
    const context = { ...first, called, plan: measuredPlan(plan, before) }
    const stages = await runStages(context)
    const withdrawn = await arming.withdraw()
    onEvent({ kind: 'rolled-back', restored: withdrawn })
    // Under the rules of another program the result would prove nothing.
    const after = withdrawn && !stop.aborted ? await runAfterPhase(context) : undefined
    const restored = await arming.restore()
    const parts = { startedAt, before, tools, stages, restored, after, timeline }
    return experimentResult(context, parts)
  } finally {
    stop.removeEventListener('abort', onStop)
    await arming.restore()
    await watches.alerts.close()
    await watches.samplers.close()
    await watches.probe?.close()
  }
}

/** Opens the rules to replace, after those of an experiment that died have been restored. */
async function openArming(options: ExperimentOptions, id: string, lock: Lock): Promise<Arming> {
  const { plan, sidecars, onEvent } = options
  const dead = await sidecars.recover(lock.dead)
  if (dead !== undefined) {
    const restored = `squall restored the ${sidecars.rulesSource.name}`
    onEvent({ kind: 'note', text: `the process of the experiment ${dead} died; ${restored}` })
  }
  const [found, rules] = await mayBegin(options, id, dead ?? lock.dead?.id)
  if (rules.backup !== undefined) await lock.note(rules.backup.path, rules.backup.previous)
  return new Arming(plan, id, { ...found, sidecars, rules })
}

/** Returns what measures the target and its monitoring, besides the load. */
function watchesOf(options: ExperimentOptions) {
  const { plan, version, sidecars, monitorHeaders = {}, monitorLostMs: lostMs } = options
  const { processes } = sidecars
  const headers = { ...plan.file.target.headers, ...options.headers }
  const target = { url: plan.target, client: 'lean', headers } as const
  const access = { target, version, headers: monitorHeaders, lostMs, processes }
  return {
    target,
    probe: plan.file.steadyState.probe === 'load' ? undefined : new Probe(target, version),
    alerts: new AlertWatch(plan.alerts, monitorHeaders, lostMs),
    samplers: new Samplers(plan.samplers, access),
    steadiness: new Steadiness(),
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
  const { plan, sidecars, monitorHeaders } = options
  return allAccepted(
    preflight(options, dead),
    sidecars.open(id),
    sidecars.killing?.check(),
    checkSilent(plan.alerts, monitorHeaders),
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

/** Writes the claim, so that the later of two experiments that begin at once fails. */
async function claim(arming: Arming, stop: AbortSignal): Promise<void> {
  try {
    await arming.arm(undefined, stop)
  } catch (error) {
    if (!(error instanceof RulesChangedError)) throw error
    throw rejectionError('EXPERIMENT_RUNNING', 'another program is changing the rules', 'try again')
  }
}

const CHECK = 'check sidecar.admin, and start squall run with --rules and --admin'

/** Configures the checks. */
type PreflightOptions = Pick<
  ExperimentOptions,
  'plan' | 'sidecars' | 'namespaceLabel' | 'monitorHeaders'
>

/** What the checks find. */
type Preflight = Pick<ArmedSidecars, 'aheadMs' | 'before' | 'suspended'>

/**
 * Checks that an experiment may begin. The claim of `dead`, an experiment whose process died, is
 * ignored. Throws a `RejectedError` with all reasons.
 */
async function preflight(
  { plan, sidecars, namespaceLabel }: PreflightOptions,
  dead: string | undefined,
): Promise<Preflight> {
  const { states, rules } = await ask(sidecars)
  const { environment } = plan.file.target
  const namespace = states.find((state) => state.namespace !== undefined)?.namespace
  const label = namespace === undefined ? undefined : await namespaceLabel?.(namespace)
  const namesOf = (state: SidecarState): readonly SourcedName[] => [
    { where: "the sidecar's environment", name: state.environment ?? undefined },
    { where: "the sidecar's namespace", name: state.namespace },
    ...(label === undefined ? [] : [label]),
  ]
  const rejections = [
    ...states.flatMap((state) => [
      environmentRejection(namesOf(state), environment ?? '', plan),
      disarmedRejection(state),
      invalidRulesRejection(state, sidecars),
    ]),
    unreadyRejection(plan, sidecars),
    await verdictRejection(plan, sidecars),
    ...ruleRejections(rules, plan, dead),
  ].filter((each) => each !== undefined)
  if (rejections.length > 0) throw new RejectedError(...distinct(rejections))
  const [{ aheadMs, rules: active }] = states as [SidecarState]
  return {
    aheadMs,
    before: active.digest,
    suspended: injecting(rules).some(({ name }) => !name.startsWith(CLAIM_PREFIX)),
  }
}

/** Returns the rules that may inject faults in this sidecar, now or later. */
function injecting(rules: readonly Rule[]): readonly Rule[] {
  return rules.filter(
    ({ builtIn, dryRun, phase }) =>
      !builtIn && !dryRun && !['expired', 'other_pod', 'disabled'].includes(phase),
  )
}

async function ask(sidecars: Sidecars) {
  try {
    const states = await sidecars.states()
    if (states.length === 0) throw new AdminError('no pod with a sidecar is running')
    return { states, rules: await sidecars.rules() }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const [admin] = sidecars.forLoad.sidecars
    if (admin === undefined) throw podsUnreachable(error.message)
    throw rejectionError(
      'SIDECAR_UNREACHABLE',
      `the admin port at ${admin.url.origin} cannot be read: ${error.message}`,
      CHECK,
    )
  }
}

/** Rejects gates on verdicts that no sidecar reports. */
async function verdictRejection({ slo }: Plan, sidecars: Sidecars): Promise<Rejection | undefined> {
  const gate = verdictGate(slo)
  if (gate === undefined) return undefined
  try {
    const without = withoutTasks(await sidecars.forLoad.readTasks())
    if (without === undefined) return undefined
    return { code: 'NO_VERDICTS', wrong: needsTasks(gate, without), fix: START_WITH_TASKS }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const wrong = `${needsVerdicts(gate)}: ${error.message}`
    return { code: 'NO_VERDICTS', wrong, fix: CHECK }
  }
}

function unreadyRejection(plan: Plan, sidecars: Sidecars): Rejection | undefined {
  if (!isUnready({ plan, sidecars })) return undefined
  return {
    code: 'NOT_STEADY',
    wrong: `${sidecars.ready} pods are ready, but steadyState.ready is ${plan.file.steadyState.ready}`,
    fix: 'wait until the pods are ready, or adjust steadyState.ready',
  }
}

function environmentRejection(
  names: readonly SourcedName[],
  wanted: string,
  { production }: Plan,
): Rejection | undefined {
  const match = findProduction(names, production.patterns)
  if (match !== undefined) return productionRejection(match)
  const found = names[0]?.name
  if (found?.toLowerCase() === wanted.toLowerCase()) return undefined
  return {
    code: 'ENVIRONMENT_MISMATCH',
    wrong:
      found === undefined
        ? `the plan is for "${wanted}", but the sidecar sets no environment`
        : `the plan is for "${wanted}", but the sidecar is in "${found}"`,
    fix: 'check sidecar, target.environment and the --environment of squall run',
  }
}

function disarmedRejection({ dryRun, reasons }: SidecarState): Rejection | undefined {
  // The experiment replaces the file, including its stop key.
  const against = reasons.filter(({ by }) => by !== 'file')
  if (!dryRun && against.length === 0) return undefined
  const why = dryRun
    ? 'it runs with --dry-run'
    : against.map(({ by, reason }) => `${by}${reason === '' ? '' : ` (${reason})`}`).join(', ')
  return {
    code: 'SIDECAR_DISARMED',
    wrong: `the sidecar injects no faults: ${why}`,
    fix: dryRun
      ? 'start squall run without --dry-run'
      : 'arm the sidecar when the reason is resolved',
  }
}

/**
 * Rejects an invalid rules file: after the experiment the sidecar would reject it again and keep
 * the rules of the experiment.
 */
function invalidRulesRejection(
  { lastReload: last }: SidecarState,
  { rulesSource }: Sidecars,
): Rejection | undefined {
  if (last?.result !== 'rejected') return undefined
  return {
    code: 'RULES_NOT_ACTIVE',
    wrong: `the sidecar rejected its rules file, which could not be restored: ${firstProblem(last)}`,
    fix: `fix ${rulesSource.setting}; squall validate shows its errors`,
  }
}

function ruleRejections(
  rules: readonly Rule[],
  { file }: Plan,
  dead: string | undefined,
): readonly Rejection[] {
  const acting = rules.filter(({ builtIn, phase }) => !builtIn && phase !== 'expired')
  const claims = acting.filter(({ name }) => name.startsWith(CLAIM_PREFIX))
  const other = claims.find(({ name }) => name !== `${CLAIM_PREFIX}${dead}`)
  if (other !== undefined) {
    const id = other.name.slice(CLAIM_PREFIX.length)
    const wrong = `the experiment ${id}, started elsewhere, is running in this sidecar`
    return [{ code: 'EXPERIMENT_RUNNING', wrong, fix: 'wait until it has finished' }]
  }
  if (claims.length > 0 || file.sidecar.replaceRules) return []
  const own = injecting(rules)
  if (own.length === 0) return []
  const all = [...new Set(own.map(({ name }) => name))]
  const wrong = `the sidecar has active rules: ${shownTools(all)}`
  const fix =
    'remove the rules, or suspend them during the experiment with sidecar.replaceRules: true'
  return [{ code: 'OTHER_RULES', wrong, fix }]
}
