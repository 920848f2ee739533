import {
  callMatcher,
  findProduction,
  namedTools,
  parseRules,
  type Problem,
  type Production,
  productionText,
  type SourcedName,
  urlNames,
} from '#rules'
import { FIRST_STAGE, MAX_FACTOR, MAX_POINTS, widest } from './stage-shares.ts'
import type { PlanFile } from './plan-schema.ts'
import type { Rejection } from './rejection.ts'
import { plannedTools, type Plan, type RulesSource, type WrittenRule } from './plan.ts'
import type { ToolInfo } from '../load/clients/load-client.ts'
import { fieldsOf, nearestName, quoted, textOf } from '#base'
import { toolCall } from './tool-call.ts'

/** A rejection and its position in the file. */
export type LocatedRejection = Rejection & Pick<Problem, 'line' | 'column'>

/** Returns the reasons to reject a plan that are known without a request. */
export function planRejections(plan: Plan): readonly Rejection[] {
  const { file, rules } = plan
  const rejections = [...gateRejections(plan), ...environmentRejections(plan)]
  if (file.stages !== undefined) rejections.push(...stageRejections(file.stages, 'stages'))
  if (file.pods !== undefined) rejections.push(...stageRejections(file.pods, 'pods'))
  if (rules !== undefined) {
    rejections.push(...ruleRejections(rules, file))
    const nothing = matchNothing(rules, plannedTools(plan), file.target)
    if (nothing !== undefined) rejections.push({ ...nothing, path: ['rules'] })
  }
  return rejections
}

function gateRejections({ steady, aborts, slo }: Plan): Rejection[] {
  const hasGate = aborts.length + slo.length > 0
  return [...(hasGate ? [] : [NO_GATE]), ...(steady.length > 0 ? [] : [NO_LIMIT])]
}

const NO_GATE: Rejection = {
  code: 'NO_GATE',
  wrong: 'the plan must define a gate: abortOn or slo',
  fix: 'add abortOn: { errors: { limit: 5%, for: 30s } } or slo: { success: 99% }',
  path: [],
}
const NO_LIMIT: Rejection = {
  code: 'NO_GATE',
  wrong: 'steadyState must define a limit',
  fix: 'add at least one of errors, success, p50, p95 and p99 to steadyState',
  path: ['steadyState'],
}

function environmentRejections({ file, production }: Plan): Rejection[] {
  const { target } = file
  const { admin, kubernetes } = file.sidecar
  if (target.environment === undefined) {
    const fix = 'set target.environment to the --environment of the sidecar, such as staging'
    const wrong = 'the plan names no environment'
    return [{ code: 'NO_ENVIRONMENT', wrong, fix, path: ['target'] }]
  }
  const namespace = { where: 'the namespace', name: kubernetes?.namespace }
  const checks: readonly (readonly [path: string, names: readonly SourcedName[]])[] = [
    ['target.environment', [{ where: 'the environment', name: target.environment }]],
    ['target.url', urlNames('target.url', new URL(target.url))],
    ['sidecar.admin', admin === undefined ? [] : urlNames('sidecar.admin', new URL(admin))],
    ['sidecar.kubernetes.namespace', [namespace]],
    ['', production.names],
  ]
  return checks.flatMap(([path, names]) => {
    const found = findProduction(names, production.patterns)
    if (found === undefined) return []
    return [{ ...productionRejection(found), path: path === '' ? [] : path.split('.') }]
  })
}

/** Returns the rejection of an experiment on production. */
export function productionRejection(found: Production): Rejection {
  return {
    code: 'PRODUCTION',
    wrong: productionText(found),
    fix: 'run the experiment in another environment; if this is not production, change the name or --production-names',
  }
}

function ruleRejections({ rules, enabled }: RulesSource, file: PlanFile): Rejection[] {
  const inline = Array.isArray(file.rules)
  const rejections: Rejection[] = []
  if (!enabled) {
    rejections.push({
      code: 'RULES_MATCH_NOTHING',
      wrong: 'the rules file has `enabled: false`',
      fix: 'remove `enabled: false`',
      path: ['rules'],
    })
  }
  for (const [index, rule] of rules.entries()) {
    const own = ['ramp', 'stages', ...(file.pods === undefined ? [] : ['pods'])]
    const key = own.find((each) => rule[each] !== undefined)
    if (key === undefined) continue
    rejections.push({
      code: 'RULES_STAGED',
      wrong: `the rule "${rule.name}" has \`${key}\`, but the plan sets the stages`,
      fix: `remove \`${key}\` from the rule`,
      path: inline ? ['rules', index, key] : ['rules'],
    })
  }
  return rejections
}

/** Returns the rejections of stages that do not grow, or grow too fast. */
export function stageRejections(
  stages: readonly number[],
  key: 'stages' | 'pods',
): readonly Rejection[] {
  const rejections: Rejection[] = []
  for (const [index, share] of stages.entries()) {
    const before = stages[index - 1]
    const path = [key, index]
    if (share <= (before ?? 0)) {
      rejections.push({
        code: 'STAGES_NOT_ASCENDING',
        wrong: `the stage ${share}% must be above ${before ?? 0}%${before === undefined ? '' : ', the stage before'}`,
        fix: 'list the stages in ascending order',
        path,
      })
    } else if (share > widest(before)) {
      rejections.push({
        code: 'STAGE_SKIPPED',
        wrong: `the ${before === undefined ? 'first stage' : `stage after ${before}%`} must be at most ${widest(before)}%; got ${share}%`,
        fix:
          before === undefined
            ? `start with ${FIRST_STAGE}% or less`
            : `add a stage between: each is at most ${MAX_FACTOR} times the stage before, and ${MAX_POINTS} points above it`,
        path,
      })
    }
  }
  return rejections
}

/**
 * Returns a rejection when no rule can match a call of these tools. Only the tool and the headers
 * are known before the run, and neither of an indirect target: other conditions count as matching.
 */
export function matchNothing(
  { rules }: RulesSource,
  tools: readonly string[],
  { indirect, headers = {} }: PlanFile['target'],
): Rejection | undefined {
  const acting = rules.filter(({ dryRun, enabled }) => dryRun !== true && enabled !== false)
  if (acting.length === 0) {
    return {
      code: 'RULES_MATCH_NOTHING',
      wrong: rules.length === 0 ? 'the plan has no rules' : 'all rules are dry runs or disabled',
      fix: 'add a rule without dryRun: true and enabled: false',
    }
  }
  if (indirect || tools.length === 0) return undefined
  if (acting.some((rule) => tools.some(toolMatcher(rule, headers)))) return undefined
  const named = acting.map(({ match }) => textOf(fieldsOf(match)['tool']))
  const wanted = named.find((tool) => tool !== undefined)
  const near = wanted === undefined ? undefined : nearestName(wanted, tools)
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`
  return {
    code: 'RULES_MATCH_NOTHING',
    wrong: `no rule can match a call of ${shownTools(tools)}`,
    fix: `set \`match\` to these tools and the headers of the load${hint}; squall explain shows the condition that fails`,
  }
}

/**
 * Returns a rejection for each rule that may affect a destructive tool without naming it, where there
 * is a policy. The tools behind an indirect target are unknown.
 */
export function destructiveRejections(
  { rules, policy, file: { target } }: Plan,
  tools: readonly ToolInfo[],
): readonly Rejection[] {
  if (policy === undefined || target.indirect) return []
  const names = tools.filter(({ hint }) => hint === 'destructive').map(({ name }) => name)
  const { headers = {} } = target
  return (rules?.rules ?? [])
    .filter((rule) => rule['enabled'] !== false && namedTools(rule) === undefined)
    .flatMap((rule) => {
      const affected = names.filter(toolMatcher(rule, headers))
      if (affected.length === 0) return []
      const wrong = `the rule ${quoted(rule.name)} may affect ${shownTools(affected.map((name) => quoted(name)))}, which the server declares destructive`
      return [{ code: 'POLICY', wrong, fix: 'name the tools of the rule, without wildcards' }]
    })
}

/** Compiles a rule, and returns a function that is true for tools whose calls it may match. */
export function toolMatcher(
  rule: WrittenRule,
  headers: Readonly<Record<string, string>>,
): (name: string) => boolean {
  const { tool, headers: wanted, ...others } = fieldsOf(rule['match'])
  // The load calls other methods only in handshakes; other conditions are only known at run time.
  if (['http', 'any', 'all', 'not', 'method', 'outbound'].some((key) => others[key] !== undefined))
    return () => true
  const known = {
    ...(tool === undefined ? {} : { tool }),
    ...(wanted === undefined ? {} : { headers: wanted }),
  }
  const asked = { name: rule.name, match: known, faults: rule['faults'] }
  const parsed = parseRules(JSON.stringify({ rules: [asked] }))
  if (!parsed.ok) return () => true
  const matches = callMatcher(parsed.file)
  return (name) => matches(toolCall(name, headers))
}

/** Lists the first names of many. */
export function shownTools(tools: readonly string[]): string {
  return tools.length > 5 ? `${tools.slice(0, 5).join(', ')}, …` : tools.join(', ')
}
