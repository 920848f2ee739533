import { resolve } from 'node:path'
import { fieldsOf, type Fields } from '../../base/values.ts'
import type { Plan } from '../experiment/plan.ts'
import { MAX_FACTOR, stagesTo, widest } from '../../rules/select/stage-shares.ts'
import { type Rejection, rejectionError } from '../experiment/rejection.ts'
import type { Condition } from './condition.ts'
import { type Variation, variedRules } from './variation.ts'

/** A plan whose magnitude is varied until a condition is true. */
export interface SearchPlan {
  readonly plan: Plan
  /** The base of relative paths. */
  readonly directory: string
  /** The written plan, without defaults. */
  readonly written: Fields
  readonly variation: Variation
  readonly condition: Condition
}

/**
 * Returns the text of the plan for one run: a single stage with one magnitude. Each run has its own
 * seed, because equal ones would sample the same calls.
 */
export function runText(search: SearchPlan, magnitude: number, run: number): string {
  const { plan, variation } = search
  const share = isShare(variation) ? magnitude : plan.file.stages!.at(-1)!
  return textWith(search, magnitude, [share], (plan.seed + run) % 2 ** 32)
}

/** Returns the text of a plan with all stages of the search up to the strongest magnitude. */
export function rangeText(search: SearchPlan): string {
  const { mildest, strongest } = search.variation.range
  return wholeText(search, strongest, mildest)
}

/**
 * Returns the text of a plan up to one magnitude, which `squall experiment run` accepts. Its first
 * stage is as large as a first stage may be, unless another is given.
 */
export function wholeText(search: SearchPlan, magnitude: number, first?: number): string {
  const { plan, variation } = search
  const most = Math.min(widest(undefined), plan.policy?.firstStage ?? 100)
  return textWith(
    search,
    magnitude,
    isShare(variation) ? stagesTo(first ?? most, magnitude) : plan.file.stages!,
  )
}

/** Returns true when the magnitude is the share of the stage. */
export function isShare({ path }: Variation): boolean {
  return path[0] === 'percent'
}

/** Returns the greatest magnitude that may follow one that passed, as between stages. */
export function nextWidest({ path, range }: Variation): (passed: number | undefined) => number {
  const { mildest, strongest } = range
  return (passed) => {
    if (passed === undefined) return mildest
    if (path[0] === 'percent') return Math.min(strongest, widest(passed))
    return mildest < strongest
      ? Math.min(strongest, passed * MAX_FACTOR)
      : Math.max(strongest, passed / MAX_FACTOR)
  }
}

/** Returns the reason why a plan cannot be searched; undefined when it can. */
export function searchRejection({ plan, variation }: SearchPlan): Rejection | undefined {
  const { rules, file } = plan
  const found = (wrong: string, fix: string): Rejection => ({ code: 'NOT_SEARCHABLE', wrong, fix })
  if (rules === undefined || file.stages === undefined) {
    return found('the plan has no rules with `stages`', 'add rules and stages to the plan')
  }
  if (file.kill !== undefined) {
    return found('the plan kills a process, and a search runs it many times', 'remove `kill`')
  }
  if (rules.maxActive !== undefined) {
    return found('the rules file has `maxActive`', 'remove maxActive, or write the rules inline')
  }
  if (isShare(variation)) return undefined
  const share = file.stages.at(-1)!
  const { firstStage = 100 } = plan.policy ?? {}
  if (share > firstStage) {
    const wrong = `each run has one stage of ${share}%, above firstStage: ${firstStage}% of the policy`
    return found(wrong, `write stages: [${firstStage}%]`)
  }
  if (variedRules(rules.rules, variation, variation.range.mildest) !== undefined) return undefined
  const [fault, ...parameter] = variation.path
  const wrong = `no rule has the fault ${fault} with \`${parameter.join('.')}\``
  return found(wrong, `write the parameter into the plan; the search replaces its value`)
}

function textWith(
  { plan, directory, written, variation, condition }: SearchPlan,
  magnitude: number,
  stages: readonly number[],
  seed = plan.seed,
): string {
  const { expect: _, rules: __, ...rest } = written
  const { sidecar, load, slo } = rest
  const all = plan.rules!.rules
  const rules = isShare(variation) ? all : variedRules(all, variation, magnitude)
  if (rules === undefined) throw rejectionError('NOT_SEARCHABLE', 'no rule is varied', 'name one')
  const [gate, limit] = condition.gate
  const text = {
    ...rest,
    seed,
    sidecar: withPath(fieldsOf(sidecar), 'rulesFile', directory),
    ...(load !== undefined && { load: withPath(fieldsOf(load), 'calls', directory) }),
    rules,
    stages: stages.map((share) => `${share}%`),
    slo: { ...fieldsOf(slo), [gate]: /^p[0-9]/.test(gate) ? `${limit}ms` : `${limit}%` },
  }
  return `${JSON.stringify(text, null, 2)}\n`
}

/** Makes the path of a member absolute, so that the text may be stored elsewhere. */
function withPath(fields: Fields, key: string, directory: string): Fields {
  const path = fields[key]
  return typeof path === 'string' ? { ...fields, [key]: resolve(directory, path) } : fields
}
