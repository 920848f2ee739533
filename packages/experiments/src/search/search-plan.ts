import { resolve } from 'node:path'
import { type Fields, fieldsOf } from '#base'
import type { Plan } from '../experiment/plan.ts'
import { MAX_FACTOR, stagesTo, widest } from '../experiment/stage-shares.ts'
import { type Rejection, rejectionError } from '../experiment/rejection.ts'
import type { Magnitudes } from './bisection.ts'
import type { Condition } from './condition.ts'
import type { Span } from './limit-search.ts'
import { type Variation, valuesAt, variedRules } from './variation.ts'

/** A plan whose magnitudes are varied until a condition is true. */
export interface SearchPlan {
  readonly plan: Plan
  /** The base of relative paths. */
  readonly directory: string
  /** The written plan, without defaults. */
  readonly written: Fields
  /** One, or two. */
  readonly variations: readonly Variation[]
  readonly condition: Condition
}

/**
 * Returns the text of the plan for one run: a single stage. Each run has its own seed, because equal
 * ones would sample the same calls.
 */
export function runText(search: SearchPlan, place: Magnitudes, run: number): string {
  const { plan } = search
  const share = shareAt(search, place) ?? plan.file.stages!.at(-1)!
  return textWith(search, place, [share], (plan.seed + run) % 2 ** 32)
}

/**
 * Returns the texts of plans with all stages of the search: up to the strongest magnitudes, and up to
 * the strongest of each parameter beside the mildest of the other.
 */
export function rangeTexts(search: SearchPlan): readonly [string, ...string[]] {
  const [first, second] = search.variations
  const { mildest, strongest } = first!.range
  const share = search.variations.find(isShare)?.range.mildest
  if (second === undefined) return [wholeText(search, { magnitude: strongest }, share)]
  const text = (magnitude: number, other: number): string =>
    wholeText(search, { magnitude, second: other }, share)
  return [
    text(strongest, second.range.strongest),
    text(strongest, second.range.mildest),
    text(mildest, second.range.strongest),
  ]
}

/**
 * Returns the text of a plan up to one place, which `squall experiment run` accepts. Its first stage
 * is as large as a first stage may be, unless another is given.
 */
export function wholeText(search: SearchPlan, place: Magnitudes, first?: number): string {
  const { plan } = search
  const most = Math.min(widest(undefined), plan.policy?.firstStage ?? 100)
  const share = shareAt(search, place)
  const stages = share === undefined ? plan.file.stages! : stagesTo(first ?? most, share)
  return textWith(search, place, stages)
}

/** Returns the share of the stage; undefined when the search does not vary it. */
function shareAt({ variations }: SearchPlan, place: Magnitudes): number | undefined {
  return valuesAt(variations, place).find(([variation]) => isShare(variation))?.[1]
}

/** Returns true when the magnitude is the share of the stage. */
function isShare({ path }: Variation): boolean {
  return path[0] === 'percent'
}

/** Returns the range, and the greatest magnitude that may follow one that passed, as between stages. */
export function spanOf({ path, range }: Variation): Span {
  const { mildest, strongest } = range
  const next: Span['widest'] = (passed) => {
    if (passed === undefined) return mildest
    if (path[0] === 'percent') return Math.min(strongest, widest(passed))
    return mildest < strongest
      ? Math.min(strongest, passed * MAX_FACTOR)
      : Math.max(strongest, passed / MAX_FACTOR)
  }
  return { range, widest: next }
}

/** Returns the reason why a plan cannot be searched; undefined when it can. */
export function searchRejection({ plan, variations }: SearchPlan): Rejection | undefined {
  const { rules, file } = plan
  const found = (wrong: string, fix: string): Rejection => ({ code: 'NOT_SEARCHABLE', wrong, fix })
  if (rules === undefined || file.stages === undefined) {
    return found('the plan has no rules with `stages`', 'add rules and stages to the plan')
  }
  if (file.kill !== undefined) {
    return found(
      'the plan kills a process, and a search would run the plan many times',
      'remove `kill`',
    )
  }
  if (rules.maxActive !== undefined) {
    return found('the rules file has `maxActive`', 'remove maxActive, or write the rules inline')
  }
  const parameters = variations.filter((variation) => !isShare(variation))
  const share = file.stages.at(-1)!
  const { firstStage = 100 } = plan.policy ?? {}
  if (parameters.length === variations.length && share > firstStage) {
    const wrong = `each run has one stage of ${share}%, above firstStage: ${firstStage}% of the policy`
    return found(wrong, `write stages: [${firstStage}%]`)
  }
  const missing = parameters.find(
    (variation) => variedRules(rules.rules, variation, variation.range.mildest) === undefined,
  )
  if (missing === undefined) return undefined
  const [fault, ...parameter] = missing.path
  const wrong = `no rule sets \`${parameter.join('.')}\` on the fault ${fault}`
  return found(wrong, `set the parameter in the plan; the search replaces its value`)
}

function textWith(
  { plan, directory, written, variations, condition }: SearchPlan,
  place: Magnitudes,
  stages: readonly number[],
  seed = plan.rules!.seed ?? plan.file.seed,
): string {
  const { expect: _, rules: __, ...rest } = written
  const { sidecar, load, slo } = rest
  let rules: readonly unknown[] | undefined = plan.rules!.rules
  for (const [variation, value] of valuesAt(variations, place)) {
    if (!isShare(variation)) rules &&= variedRules(rules, variation, value)
  }
  if (rules === undefined)
    throw rejectionError('NOT_SEARCHABLE', 'no rule has the parameter to vary', 'add it to a rule')
  const [gate, limit] = condition.gate
  const text = {
    ...rest,
    ...(seed !== undefined && { seed }),
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
