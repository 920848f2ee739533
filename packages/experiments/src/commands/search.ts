import {
  asText,
  atMost,
  count,
  duration,
  type FlagInput,
  group,
  invalidCombination,
  invalidValue,
  many,
  missing,
  one,
  operation,
  percent,
  type Values,
} from '#cli'
import { readPercent } from '#base'
import { ACCESS_FLAGS, accessOf, POLICY } from './experiment.ts'
import { JSON_OUT } from './past-experiments.ts'

const SEARCH = 'Search:'
const BUDGET = 'Budget:'

export const SEARCH_FLAGS = {
  ...group(SEARCH, {
    vary: many(
      'range',
      'fault magnitude to vary, from the mildest to the strongest value: percent=1%..50%, delay=50ms..5s, throttle=1MiB..1KiB, rateLimit=100..1, or FAULT.PARAMETER=FROM..TO; repeat for the boundary of two parameters',
      asRanges,
    ),
    until: one(
      'condition',
      'condition that makes a magnitude fail: success<99%, errors>5% or p95>2s',
      asText,
    ),
    errorRates: one(
      'percents',
      'accepted rates of wrong decisions, for passing and for failing magnitudes',
      asErrorRates,
      { default: '5%,5%' },
    ),
    precision: percent(
      'stop once the confidence interval is narrower than this share of the limit (default: 10%, or 25% for two parameters)',
      { min: 1, max: 100 },
    ),
    confidence: percent('confidence level of the interval', { min: 50, max: 99.9 }, '95%'),
    runsAtOne: count(
      'maximum number of runs at one magnitude before the magnitude counts as undecided',
      { min: 1, max: 20 },
      '2',
    ),
    resume: one(
      'search',
      'ID of an unfinished search to resume; its maximum runs, time and calls count anew',
      asText,
    ),
  }),
  ...group(BUDGET, {
    maxRuns: count('maximum number of runs', { min: 1, max: 1000 }, '80'),
    maxTime: duration('maximum duration of the search', { min: 1000, max: 86_400_000 }, '1h'),
    maxCalls: count('maximum number of calls', { min: 1, max: 1_000_000_000 }, '1000000'),
  }),
  ...ACCESS_FLAGS,
  ...POLICY,
  ...JSON_OUT,
}

export const EXPERIMENT_SEARCH = operation({
  name: 'experiment search',
  examples: [
    'experiment search plan.yaml --vary percent=1%..50% --until "success<99%"',
    'experiment search plan.yaml --vary delay=50ms..5s --until "p95>2s" --max-time 30m',
    'experiment search plan.yaml --vary percent=1%..50% --vary delay=50ms..5s --until "success<99%"',
    'experiment search --resume 20261125-180412-3fa9c1',
  ],
  page: 'docs/guides/find-limits.md',
  description: 'find the smallest fault magnitudes at which a condition becomes true',
  operands: { form: '[plan]', most: 1 },
  flags: SEARCH_FLAGS,
  note: `
Exit code: 0 if the limit was found or is beyond the range, 1 if the search ended early or was rejected, 2
for a usage error or an invalid plan, 130 if it was interrupted.`,
  parse: (flags, { operands: [path], env, names }) => {
    const { vary, until, resume } = flags
    const budget = { maxRuns: flags.maxRuns, maxTimeMs: flags.maxTime, maxCalls: flags.maxCalls }
    const rest = { ...accessOf(flags, env), ...budget, policy: flags.policy, json: flags.json }
    if (resume !== undefined) {
      const settled = ['vary', 'until', 'error-rates', 'precision', 'confidence', 'runs-at-one']
      const other = path === undefined ? settled.find((flag) => names(flag)) : 'plan'
      if (other === undefined) return { search: { kind: 'resume' as const, id: resume }, ...rest }
      const wrong = `--resume keeps the ${other === 'plan' ? 'plan' : `--${other}`} of the search`
      throw invalidCombination(wrong, `remove ${other === 'plan' ? 'the plan' : `--${other}`}`)
    }
    if (path === undefined)
      throw missing('no plan', 'specify a plan, or resume a search with --resume')
    if (vary.length === 0) throw missing('--vary is missing', 'write --vary percent=1%..50%')
    if (until === undefined) throw missing('--until is missing', 'write --until "success<99%"')
    const settings = settingsOf(flags, vary, until)
    return { search: { kind: 'new' as const, path, settings }, ...rest }
  },
})

/** Returns the settings of a search for what makes a magnitude fail. */
export function settingsOf(
  { errorRates, precision, confidence, runsAtOne }: Values<typeof SEARCH_FLAGS>,
  vary: readonly string[],
  until: string,
) {
  return {
    vary,
    until,
    ...errorRates,
    precision: (precision ?? (vary.length === 1 ? 10 : 25)) / 100,
    confidence: confidence / 100,
    runsAtOne,
  }
}

function asRanges(given: readonly FlagInput[]): readonly string[] {
  atMost(2, given, ', because a search has one parameter or two')
  return given.map(asText)
}

function asErrorRates(given: FlagInput): {
  readonly falseFailed: number
  readonly falsePassed: number
} {
  const shares = given.text.split(',').map((text) => readPercent(text.trim()) ?? 0)
  const [falseFailed = 0, falsePassed = 0, ...more] = shares
  const isValid = [falseFailed, falsePassed].every((share) => share >= 0.1 && share <= 40)
  if (isValid && more.length === 0) {
    return { falseFailed: falseFailed / 100, falsePassed: falsePassed / 100 }
  }
  throw invalidValue(given, 'must be two percentages from 0.1% to 40%', 'write 5%,5%')
}
