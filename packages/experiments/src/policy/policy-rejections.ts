import { durationText, matchesGlob, shownUrl } from '#base'
import type { HistoryEntry } from '../experiment/history.ts'
import type { Plan, WrittenRule } from '../experiment/plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { placeViolations, type Policy, ruleViolations, toolViolations, urlNames } from '#rules'

const HOUR = 3_600_000

type Path = readonly (string | number)[]

/** Returns all reasons for which a policy rejects a plan. */
export function policyRejections(plan: Plan, policy: Policy): readonly Rejection[] {
  return [
    ...targetRejections(plan, policy),
    ...requiredRejections(plan, policy),
    ...sizeRejections(plan, policy),
    ...(plan.rules?.rules ?? []).flatMap((rule, index) =>
      ruleViolations(rule, faultsOf(rule), policy).map((each) =>
        rejection(each, Array.isArray(plan.file.rules) ? ['rules', index] : ['rules']),
      ),
    ),
    ...neverRejections(plan, policy),
  ]
}

/** Returns a rejection when the policy allows no further experiment on the target in this hour. */
export function tooManyRejections(
  plan: Plan,
  { perHour }: Policy,
  past: readonly HistoryEntry[],
  now: number,
): readonly Rejection[] {
  const target = shownUrl(plan.target)
  const isRecent = (at: string) => now - Date.parse(at) < HOUR
  const recent = past.filter((entry) => entry.target === target && isRecent(entry.startedAt))
  if (recent.length < perHour) return []
  const next = new Date(Date.parse(recent.at(-perHour)!.startedAt) + HOUR)
  const wrong = `${recent.length} experiments ran on this target within an hour; perHour allows ${perHour}`
  return [rejection({ wrong, fix: `run it after ${next.toISOString()}` })]
}

function rejection(why: Pick<Rejection, 'wrong' | 'fix'>, path?: Path): Rejection {
  return { code: 'POLICY', ...why, ...(path !== undefined && { path }) }
}

function targetRejections({ file, target }: Plan, policy: Policy): readonly Rejection[] {
  const found: Rejection[] = []
  const url = shownUrl(target)
  if (!policy.targets.some((glob) => matchesGlob(glob, url))) {
    const wrong = `the policy does not allow the target ${url}`
    const fix = `test one of ${policy.targets.join(', ')}`
    found.push(rejection({ wrong, fix }, ['target', 'url']))
  }
  const { environment } = file.target
  const { admin, kubernetes } = file.sidecar
  const names = [
    { where: 'the environment', name: environment },
    { where: 'the namespace', name: kubernetes?.namespace },
    { where: 'the context', name: kubernetes?.context },
    ...urlNames('target.url', target),
    ...(admin === undefined ? [] : urlNames('sidecar.admin', new URL(admin))),
  ]
  const places = placeViolations(environment, names, policy).map(({ of, ...each }) =>
    rejection(each, of === undefined ? undefined : ['target', of]),
  )
  return [...found, ...places]
}

function requiredRejections(plan: Plan, policy: Policy): readonly Rejection[] {
  const sections = {
    abortOn: { limits: plan.aborts, form: 'abortOn: { errors: { limit: 5%, for: 30s } }' },
    slo: { limits: plan.slo, form: 'slo: { success: 99% }' },
    steadyState: { limits: plan.steady, form: 'steadyState: { errors: 1% }' },
  }
  return policy.require.flatMap((section) => {
    const { limits, form } = sections[section]
    const wrong = `the policy requires a limit in \`${section}\``
    return limits.length > 0 ? [] : [rejection({ wrong, fix: `add ${form}` }, [])]
  })
}

function sizeRejections({ file, by }: Plan, policy: Policy): readonly Rejection[] {
  const found: Rejection[] = []
  const shares = file.stages ?? file.pods ?? []
  const key = by === 'pods' ? 'pods' : 'stages'
  const [first] = shares
  if (first !== undefined && first > policy.firstStage) {
    const wrong = `the first stage ${first}% is above firstStage: ${policy.firstStage}%`
    found.push(rejection({ wrong, fix: `begin with ${policy.firstStage}% or less` }, [key, 0]))
  }
  const above = shares.findIndex((share) => share > policy.maxPercent)
  if (above >= 0) {
    const wrong = `the stage ${shares[above]}% is above maxPercent: ${policy.maxPercent}%`
    found.push(rejection({ wrong, fix: `use ${policy.maxPercent}% or less` }, [key, above]))
  }
  const widest = Math.min(policy.firstStage, policy.maxPercent)
  if (file.dependency !== undefined && widest < 100) {
    const wrong = `a blocked dependency is a stage of 100%, and the policy allows ${widest}%`
    const fix = 'use rules with stages, or a policy with firstStage and maxPercent of 100%'
    found.push(rejection({ wrong, fix }, ['dependency']))
  }
  const total = Math.max(1, shares.length) * file.hold
  if (total > policy.maxDuration) {
    const most = durationText(policy.maxDuration)
    const wrong = `the stages last ${durationText(total)}, longer than maxDuration: ${most}`
    found.push(rejection({ wrong, fix: 'use fewer stages or a shorter hold' }, ['hold']))
  }
  const { maxRate } = policy
  const { rate } = file.load
  if (maxRate !== undefined && (rate === undefined || rate > maxRate)) {
    const wrong =
      rate === undefined
        ? `the load has no rate, and maxRate is ${maxRate}/s`
        : `the rate ${rate}/s of the load is above maxRate: ${maxRate}/s`
    found.push(rejection({ wrong, fix: `use a rate of ${maxRate}/s or less` }, ['load']))
  }
  return found
}

function neverRejections({ file, calls }: Plan, { neverTools }: Policy): readonly Rejection[] {
  const never = (tool: string, path: Path) =>
    toolViolations(tool, neverTools).map((each) => rejection(each, path))
  return [
    ...(file.load.tools ?? []).flatMap((tool, index) => never(tool, ['load', 'tools', index])),
    ...calls.flatMap(({ tool }) => never(tool, ['load', 'calls'])),
  ]
}

function faultsOf(rule: WrittenRule): readonly string[] {
  const faults = rule['faults']
  if (!Array.isArray(faults)) return []
  return (faults as readonly unknown[]).flatMap((fault) =>
    typeof fault === 'string' ? [fault] : Object.keys(fault as object),
  )
}
