import type { Rule } from '../../admin/api.ts'
import { AdminError } from '../../admin/api-client.ts'
import { findProduction, type PlacedName } from '../../rules/guard/production-names.ts'
import { MARKER } from './armed-rules.ts'
import type { ExperimentOptions } from './context.ts'
import type { Plan } from './plan.ts'
import { rejectionError, type Rejection, RejectedError } from './rejection.ts'
import { askRules, askState, firstProblem, type SidecarState } from './sidecar-admin.ts'
import { productionRejection } from './plan-rejections.ts'

export interface Preflight {
  readonly state: SidecarState
  /** True when other rules inject faults; they are suspended until the end of the last phase. */
  readonly suspended: boolean
}

/**
 * Checks that an experiment may begin. Rules of `dead`, an experiment whose process died, are ignored.
 * Throws a `RejectedError` with all reasons.
 */
export async function preflight(
  { plan, namespaceLabel }: Pick<ExperimentOptions, 'plan' | 'namespaceLabel'>,
  dead: string | undefined,
): Promise<Preflight> {
  const { state, rules } = await ask(plan)
  const { environment } = plan.file.target
  const { namespace } = state
  const label = namespace === undefined ? undefined : await namespaceLabel?.(namespace)
  const places: readonly PlacedName[] = [
    { where: 'the environment of the sidecar,', name: state.environment ?? undefined },
    { where: 'the namespace of the sidecar,', name: namespace },
    ...(label === undefined ? [] : [label]),
  ]
  const rejections = [
    environmentRejection(places, environment ?? '', plan),
    disarmedRejection(state),
    invalidRulesRejection(state),
    ...ruleRejections(rules, plan, dead),
  ].filter((each) => each !== undefined)
  if (rejections.length > 0) throw new RejectedError(...rejections)
  return { state, suspended: injecting(rules).some(({ name }) => !name.startsWith(MARKER)) }
}

/** Returns the rules that inject faults in this sidecar, now or later. */
function injecting(rules: readonly Rule[]): readonly Rule[] {
  return rules.filter(
    ({ builtIn, dryRun, phase }) =>
      !builtIn && !dryRun && phase !== 'expired' && phase !== 'other_pod',
  )
}

async function ask(
  plan: Plan,
): Promise<{ readonly state: SidecarState; readonly rules: readonly Rule[] }> {
  try {
    return { state: await askState(plan.admin), rules: await askRules(plan.admin) }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    throw rejectionError(
      'SIDECAR_UNREACHABLE',
      `the sidecar cannot be asked at ${plan.admin.url.origin}: ${error.message}`,
      'check sidecar.admin, and that squall run has --rules',
    )
  }
}

function environmentRejection(
  places: readonly PlacedName[],
  wanted: string,
  { production }: Plan,
): Rejection | undefined {
  const hit = findProduction(places, production.patterns)
  if (hit !== undefined) return productionRejection(hit)
  const found = places[0]?.name
  if (found?.toLowerCase() === wanted.toLowerCase()) return undefined
  return {
    code: 'ENVIRONMENT_MISMATCH',
    wrong:
      found === undefined
        ? `the plan is for "${wanted}", and the sidecar names no environment`
        : `the plan is for "${wanted}", and the sidecar says "${found}"`,
    fix: 'check sidecar.admin and target.environment; squall run says it by --environment',
  }
}

function disarmedRejection({ dryRun, reasons }: SidecarState): Rejection | undefined {
  // The experiment replaces the file and with it the stop key of the file.
  const against = reasons.filter(({ by }) => by !== 'file')
  if (!dryRun && against.length === 0) return undefined
  const why = dryRun
    ? 'it only does a dry run'
    : against.map(({ by, reason }) => `${by}${reason === '' ? '' : ` (${reason})`}`).join(', ')
  return {
    code: 'SIDECAR_DISARMED',
    wrong: `no rule would act in the sidecar: ${why}`,
    fix: dryRun ? 'start it without --dry-run' : 'arm it again when the reason is gone',
  }
}

/**
 * Rejects an invalid rules file: after the experiment the sidecar would reject it again and keep the
 * rules of the experiment.
 */
function invalidRulesRejection({ lastReload: last }: SidecarState): Rejection | undefined {
  if (last?.result !== 'rejected') return undefined
  return {
    code: 'RULES_NOT_ACTIVE',
    wrong: `the sidecar rejected its rules file, so that it could not be put back: ${firstProblem(last)}`,
    fix: 'fix sidecar.rulesFile first; squall validate shows every error in it',
  }
}

function ruleRejections(
  rules: readonly Rule[],
  { file }: Plan,
  dead: string | undefined,
): readonly Rejection[] {
  const acting = rules.filter(({ builtIn, phase }) => !builtIn && phase !== 'expired')
  const markers = acting.filter(({ name }) => name.startsWith(MARKER))
  const other = markers.find(({ name }) => name !== `${MARKER}${dead}`)
  if (other !== undefined) {
    return [
      {
        code: 'EXPERIMENT_RUNNING',
        wrong: `the experiment ${other.name.slice(MARKER.length)} runs in this sidecar, begun elsewhere`,
        fix: 'wait until it is over',
      },
    ]
  }
  if (markers.length > 0 || file.sidecar.replaceRules) return []
  const own = injecting(rules)
  if (own.length === 0) return []
  const names = own.slice(0, 5).map(({ name }) => name)
  return [
    {
      code: 'OTHER_RULES',
      wrong: `the sidecar has active rules: ${names.join(', ')}${own.length > 5 ? ', …' : ''}`,
      fix: 'take them out, or let them rest meanwhile: sidecar.replaceRules: true',
    },
  ]
}
