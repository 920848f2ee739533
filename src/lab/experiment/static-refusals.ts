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
import type { Refusal } from './refusal.ts'
import type { RulesSource } from './rules-source.ts'
import { hitNothing } from './rules-reach.ts'
import { stageRefusals } from './stage-steps.ts'

export interface Considered {
  readonly file: PlanFile
  readonly rules: RulesSource | undefined
  readonly steady: readonly Gate[]
  readonly aborts: readonly Gate[]
  readonly tools: readonly string[]
  readonly production: ProductionCheck
}

/** A rejection and its position in the file. */
export type PlacedRefusal = Refusal & Pick<Problem, 'line' | 'column'>

/** Returns the reasons to reject a plan that are known without a request. */
export function staticRefusals(considered: Considered): readonly Refusal[] {
  const { file, rules } = considered
  const refusals = [...gateRefusals(considered), ...environmentRefusals(considered)]
  if (file.stages !== undefined) refusals.push(...stageRefusals(file.stages, 'stages'))
  if (file.pods !== undefined) refusals.push(...stageRefusals(file.pods, 'pods'))
  if (rules !== undefined) {
    refusals.push(...ruleRefusals(rules, file))
    const nothing = hitNothing(rules, considered.tools, file.target.headers ?? {})
    if (nothing !== undefined) refusals.push({ ...nothing, path: ['rules'] })
  }
  return refusals
}

function gateRefusals({ file, steady, aborts }: Considered): Refusal[] {
  const refusals: Refusal[] = []
  if (aborts.length === 0 && (file.slo ?? []).length === 0) {
    refusals.push({
      code: 'NO_GATE',
      wrong: 'the plan has no number at which it would end',
      fix: 'add abortOn: { errors: ">5% for 30s" }, or an slo',
      path: [],
    })
  }
  if (steady.length === 0) {
    refusals.push({
      code: 'NO_GATE',
      wrong: 'the steady state has no number',
      fix: 'add at least one of errors, success, p50, p95 and p99 to steadyState',
      path: ['steadyState'],
    })
  }
  return refusals
}

function environmentRefusals({ file, production }: Considered): Refusal[] {
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
  const at = (path: readonly string[], places: readonly PlacedName[]): Refusal[] => {
    const found = findProduction(places, production.patterns)
    return found === undefined ? [] : [{ ...productionRefusal(found), path }]
  }
  return [
    ...at(['target', 'environment'], [{ where: 'the environment', name: target.environment }]),
    ...at(['target', 'url'], urlNames('target.url', new URL(target.url))),
    ...at(['sidecar', 'admin'], urlNames('sidecar.admin', new URL(sidecar.admin))),
    ...at([], production.places),
  ]
}

/** Returns the rejection of an experiment on production. */
export function productionRefusal(found: Production): Refusal {
  return {
    code: 'PRODUCTION',
    wrong: productionText(found),
    fix: 'run experiments elsewhere; nothing lifts this but another name, or other --production-names',
  }
}

function ruleRefusals({ rules, enabled }: RulesSource, file: PlanFile): Refusal[] {
  const inline = Array.isArray(file.rules)
  const refusals: Refusal[] = []
  if (!enabled) {
    refusals.push({
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
    refusals.push({
      code: 'RULES_STAGED',
      wrong: `the rule "${rule.name}" has \`${key}\`, and the plan has stages`,
      fix: 'take it out of the rule: the experiment widens it',
      path: inline ? ['rules', index, key] : ['rules'],
    })
  }
  return refusals
}
