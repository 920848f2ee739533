import type { Problem } from '../../rules/file/problem.ts'
import {
  findProduction,
  type PlacedName,
  type Production,
  type ProductionCheck,
  productionText,
  urlNames,
} from '../../rules/guard/production-names.ts'
import type { Gate } from './gate.ts'
import type { PlanFile } from './plan-schema.ts'
import type { Rejection } from './rejection.ts'
import type { RulesSource } from './rules-source.ts'
import { matchNothing } from './rules-reach.ts'
import { stageRejections } from './stage-steps.ts'

export interface PlanFacts {
  readonly file: PlanFile
  readonly rules: RulesSource | undefined
  readonly steady: readonly Gate[]
  readonly aborts: readonly Gate[]
  readonly tools: readonly string[]
  readonly production: ProductionCheck
}

/** A rejection and its position in the file. */
export type LocatedRejection = Rejection & Pick<Problem, 'line' | 'column'>

/** Returns the reasons to reject a plan that are known without a request. */
export function planRejections(facts: PlanFacts): readonly Rejection[] {
  const { file, rules } = facts
  const rejections = [...gateRejections(facts), ...environmentRejections(facts)]
  if (file.stages !== undefined) rejections.push(...stageRejections(file.stages, 'stages'))
  if (file.pods !== undefined) rejections.push(...stageRejections(file.pods, 'pods'))
  if (rules !== undefined) {
    rejections.push(...ruleRejections(rules, file))
    const nothing = matchNothing(rules, facts.tools, file.target.headers ?? {})
    if (nothing !== undefined) rejections.push({ ...nothing, path: ['rules'] })
  }
  return rejections
}

function gateRejections({ file, steady, aborts }: PlanFacts): Rejection[] {
  const rejections: Rejection[] = []
  if (aborts.length === 0 && (file.slo ?? []).length === 0) {
    rejections.push({
      code: 'NO_GATE',
      wrong: 'the plan has no number at which it would end',
      fix: 'add abortOn: { errors: ">5% for 30s" }, or an slo',
      path: [],
    })
  }
  if (steady.length === 0) {
    rejections.push({
      code: 'NO_GATE',
      wrong: 'the steady state has no number',
      fix: 'add at least one of errors, success, p50, p95 and p99 to steadyState',
      path: ['steadyState'],
    })
  }
  return rejections
}

function environmentRejections({ file, production }: PlanFacts): Rejection[] {
  const { target, sidecar } = file
  if (target.environment === undefined) {
    return [
      {
        code: 'NO_ENVIRONMENT',
        wrong: 'the plan names no environment',
        fix: 'write the one of the sidecar as target.environment, such as staging',
        path: ['target'],
      },
    ]
  }
  const at = (path: readonly string[], places: readonly PlacedName[]): Rejection[] => {
    const found = findProduction(places, production.patterns)
    return found === undefined ? [] : [{ ...productionRejection(found), path }]
  }
  return [
    ...at(['target', 'environment'], [{ where: 'the environment', name: target.environment }]),
    ...at(['target', 'url'], urlNames('target.url', new URL(target.url))),
    ...at(['sidecar', 'admin'], urlNames('sidecar.admin', new URL(sidecar.admin))),
    ...at([], production.places),
  ]
}

/** Returns the rejection of an experiment on production. */
export function productionRejection(found: Production): Rejection {
  return {
    code: 'PRODUCTION',
    wrong: productionText(found),
    fix: 'run experiments elsewhere; nothing lifts this but another name, or other --production-names',
  }
}

function ruleRejections({ rules, enabled }: RulesSource, file: PlanFile): Rejection[] {
  const inline = Array.isArray(file.rules)
  const rejections: Rejection[] = []
  if (!enabled) {
    rejections.push({
      code: 'RULES_HIT_NOTHING',
      wrong: 'the rules say `enabled: false`',
      fix: 'take that out',
      path: ['rules'],
    })
  }
  for (const [index, rule] of rules.entries()) {
    const own = ['ramp', 'stages', ...(file.pods === undefined ? [] : ['pods'])]
    const key = own.find((each) => rule[each] !== undefined)
    if (key === undefined) continue
    rejections.push({
      code: 'RULES_STAGED',
      wrong: `the rule "${rule.name}" has \`${key}\`, and the plan has stages`,
      fix: 'take it out of the rule: the experiment widens it',
      path: inline ? ['rules', index, key] : ['rules'],
    })
  }
  return rejections
}
