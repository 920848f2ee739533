import { AdminError, type Rule } from '#admin-api'
import { findProduction, type SourcedName } from '#rules'
import {
  needsTasks,
  needsVerdicts,
  START_WITH_TASKS,
  verdictGate,
  withoutTasks,
} from '../load/sidecar-tasks.ts'
import { CLAIM_PREFIX } from './armed-rules.ts'
import type { ExperimentOptions } from './context.ts'
import type { Plan } from './plan.ts'
import {
  distinct,
  podsUnreachable,
  rejectionError,
  type Rejection,
  RejectedError,
} from './rejection.ts'
import { firstProblem } from './sidecar-admin.ts'
import type { Sidecars, SidecarState } from './sidecars.ts'
import { productionRejection, shownTools } from './plan-rejections.ts'
import { isUnready } from './steady-phases.ts'

const CHECK = 'check sidecar.admin, and start squall run with --rules and --admin'

/** Configures the checks. */
export type PreflightOptions = Pick<
  ExperimentOptions,
  'plan' | 'sidecars' | 'namespaceLabel' | 'monitorHeaders' | 'monitorLostMs'
>

export interface Preflight {
  readonly state: SidecarState
  /** True when other rules inject faults; they are suspended until the end of the last phase. */
  readonly suspended: boolean
}

/**
 * Checks that an experiment may begin. The claim of `dead`, an experiment whose process died, is
 * ignored. Throws a `RejectedError` with all reasons.
 */
export async function preflight(
  { plan, sidecars, namespaceLabel }: PreflightOptions,
  dead: string | undefined,
): Promise<Preflight> {
  const { states, rules } = await ask(sidecars)
  const { environment } = plan.file.target
  const namespace = states.find((state) => state.namespace !== undefined)?.namespace
  const label = namespace === undefined ? undefined : await namespaceLabel?.(namespace)
  const namesOf = (state: SidecarState): readonly SourcedName[] => [
    { where: 'the environment of the sidecar,', name: state.environment ?? undefined },
    { where: 'the namespace of the sidecar,', name: state.namespace },
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
  return {
    state: states[0]!,
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

async function ask(
  sidecars: Sidecars,
): Promise<{ readonly states: readonly SidecarState[]; readonly rules: readonly Rule[] }> {
  try {
    const states = await sidecars.states()
    if (states.length === 0) throw new AdminError('no pod with a sidecar runs')
    return { states, rules: await sidecars.rules() }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const [admin] = sidecars.admins
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
    const without = withoutTasks(await sidecars.readTasks())
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
    fix: 'wait until the pods are ready, or adapt steadyState.ready',
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
        ? `the plan is for "${wanted}", but the sidecar has no environment`
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
  { rulesSetting }: Sidecars,
): Rejection | undefined {
  if (last?.result !== 'rejected') return undefined
  return {
    code: 'RULES_NOT_ACTIVE',
    wrong: `the sidecar rejected its rules file, which could not be restored: ${firstProblem(last)}`,
    fix: `fix ${rulesSetting}; squall validate shows its errors`,
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
    const wrong = `the experiment ${id} runs in this sidecar, started elsewhere`
    return [{ code: 'EXPERIMENT_RUNNING', wrong, fix: 'wait until it has ended' }]
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
