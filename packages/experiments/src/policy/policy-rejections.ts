import { durationText, matchesGlob, quoted, shownUrl } from '#base'
import type { HistoryEntry } from '../experiment/history.ts'
import type { Plan, WrittenRule } from '../experiment/plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import { findProduction, urlNames } from '#rules'
import type { Policy } from './policy-schema.ts'

const HOUR = 3_600_000

type Path = readonly (string | number)[]

/** Returns all reasons for which a policy rejects a plan. */
export function policyRejections(plan: Plan, policy: Policy): readonly Rejection[] {
  return [
    ...targetRejections(plan, policy),
    ...requiredRejections(plan, policy),
    ...sizeRejections(plan, policy),
    ...(plan.rules?.rules ?? []).flatMap((rule, index) =>
      ruleRejections(rule, policy, Array.isArray(plan.file.rules) ? ['rules', index] : ['rules']),
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
  const recent = past.filter(
    (entry) => entry.target === target && now - Date.parse(entry.startedAt) < HOUR,
  )
  if (recent.length < perHour) return []
  const next = new Date(Date.parse(recent.at(-perHour)!.startedAt) + HOUR)
  return [
    rejection(
      `${recent.length} experiments ran on this target within an hour; perHour allows ${perHour}`,
      `run it after ${next.toISOString()}`,
    ),
  ]
}

function rejection(wrong: string, fix: string, path?: Path): Rejection {
  return { code: 'POLICY', wrong, fix, ...(path !== undefined && { path }) }
}

function targetRejections({ file, target }: Plan, policy: Policy): readonly Rejection[] {
  const found: Rejection[] = []
  const url = shownUrl(target)
  if (!policy.targets.some((glob) => matchesGlob(glob, url))) {
    const fix = `test one of ${policy.targets.join(', ')}`
    found.push(rejection(`the policy does not allow the target ${url}`, fix, ['target', 'url']))
  }
  const { environment } = file.target
  const isAllowed = policy.environments.some(
    (name) => name.toLowerCase() === environment?.toLowerCase(),
  )
  if (environment !== undefined && !isAllowed) {
    const wrong = `the policy does not allow the environment ${quoted(environment)}`
    const fix = `use one of ${policy.environments.join(', ')}`
    found.push(rejection(wrong, fix, ['target', 'environment']))
  }
  const { admin, kubernetes } = file.sidecar
  const names = [
    { where: 'the environment', name: environment },
    { where: 'the namespace', name: kubernetes?.namespace },
    { where: 'the context', name: kubernetes?.context },
    ...urlNames('target.url', target),
    ...(admin === undefined ? [] : urlNames('sidecar.admin', new URL(admin))),
  ]
  const production = findProduction(names, policy.forbidden)
  if (production !== undefined) {
    const { where, name, pattern } = production
    const wrong = `${where} ${quoted(name)} matches ${pattern}, which the policy forbids`
    found.push(rejection(wrong, 'test another environment'))
  }
  return found
}

function requiredRejections(plan: Plan, policy: Policy): readonly Rejection[] {
  const has = {
    abortOn: plan.aborts.length > 0,
    slo: plan.slo.length > 0,
    steadyState: plan.steady.length > 0,
  }
  const forms = {
    abortOn: 'abortOn: { errors: { limit: 5%, for: 30s } }',
    slo: 'slo: { success: 99% }',
    steadyState: 'steadyState: { errors: 1% }',
  }
  return policy.require
    .filter((section) => !has[section])
    .map((section) =>
      rejection(`the policy requires a limit in \`${section}\``, `add ${forms[section]}`, []),
    )
}

function sizeRejections({ file, by }: Plan, policy: Policy): readonly Rejection[] {
  const found: Rejection[] = []
  const shares = file.stages ?? file.pods ?? []
  const key = by === 'pods' ? 'pods' : 'stages'
  const [first] = shares
  if (first !== undefined && first > policy.firstStage) {
    const wrong = `the first stage ${first}% is above firstStage: ${policy.firstStage}%`
    found.push(rejection(wrong, `begin with ${policy.firstStage}% or less`, [key, 0]))
  }
  const above = shares.findIndex((share) => share > policy.maxPercent)
  if (above >= 0) {
    const wrong = `the stage ${shares[above]}% is above maxPercent: ${policy.maxPercent}%`
    found.push(rejection(wrong, `use ${policy.maxPercent}% or less`, [key, above]))
  }
  const widest = Math.min(policy.firstStage, policy.maxPercent)
  if (file.dependency !== undefined && widest < 100) {
    const wrong = `a blocked dependency is a stage of 100%, and the policy allows ${widest}%`
    const fix = 'use rules with stages, or a policy with firstStage and maxPercent of 100%'
    found.push(rejection(wrong, fix, ['dependency']))
  }
  const total = Math.max(1, shares.length) * file.hold
  if (total > policy.maxDuration) {
    const most = durationText(policy.maxDuration)
    const wrong = `the stages last ${durationText(total)}, longer than maxDuration: ${most}`
    found.push(rejection(wrong, 'use fewer stages or a shorter hold', ['hold']))
  }
  const { maxRate } = policy
  const { rate } = file.load
  if (maxRate !== undefined && (rate === undefined || rate > maxRate)) {
    const wrong =
      rate === undefined
        ? `the load has no rate, and maxRate is ${maxRate}/s`
        : `the rate ${rate}/s of the load is above maxRate: ${maxRate}/s`
    found.push(rejection(wrong, `use a rate of ${maxRate}/s or less`, ['load']))
  }
  return found
}

function ruleRejections(rule: WrittenRule, policy: Policy, path: Path): readonly Rejection[] {
  const { faults, neverTools } = policy
  const found: Rejection[] = []
  for (const name of faultsOf(rule)) {
    if (faults === undefined || faults.includes(name)) continue
    const wrong = `the policy does not allow the fault ${quoted(name)} of the rule ${quoted(rule.name)}`
    found.push(rejection(wrong, `use ${faults.join(', ')}`, path))
  }
  if (neverTools === undefined) return found
  const tools = namedTools(rule)
  if (tools === undefined) {
    const wrong = `the rule ${quoted(rule.name)} does not name its tools, and the policy has neverTools`
    found.push(rejection(wrong, 'write match: { tool: NAME } without wildcards', path))
  }
  for (const tool of tools ?? []) {
    if (neverTools.some((glob) => matchesGlob(glob, tool))) {
      found.push(neverTouched(tool, path))
    }
  }
  return found
}

function neverRejections({ file, calls }: Plan, { neverTools = [] }: Policy): readonly Rejection[] {
  const never = (tool: string): boolean => neverTools.some((glob) => matchesGlob(glob, tool))
  return [
    ...(file.load.tools ?? []).flatMap((tool, index) =>
      never(tool) ? [neverTouched(tool, ['load', 'tools', index])] : [],
    ),
    ...calls
      .filter(({ tool }) => never(tool))
      .map(({ tool }) => neverTouched(tool, ['load', 'calls'])),
  ]
}

function neverTouched(tool: string, path: Path): Rejection {
  const wrong = `the policy forbids experiments with the tool ${quoted(tool)}`
  return rejection(wrong, 'choose another tool', path)
}

/** Returns the names of the faults of a rule. */
export function faultsOf(rule: WrittenRule): readonly string[] {
  const faults = rule['faults']
  if (!Array.isArray(faults)) return []
  return (faults as readonly unknown[]).flatMap((fault) =>
    typeof fault === 'string' ? [fault] : Object.keys(fault as object),
  )
}

/** Returns the tools of a rule that names them exactly; undefined for any other rule. */
export function namedTools({ match }: WrittenRule): readonly string[] | undefined {
  const tool = (match as Readonly<Record<string, unknown>> | undefined)?.['tool']
  const names: readonly unknown[] = Array.isArray(tool) ? tool : [tool]
  const texts = names.filter((name) => typeof name === 'string')
  return texts.length === names.length && !texts.some((name) => /[*?]/.test(name))
    ? texts
    : undefined
}
