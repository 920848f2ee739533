import { quoted } from '#base'
import { parseRules, type RulesFile } from '#rules'
import { armedText } from '../experiment/armed-rules.ts'
import type { Plan, Stage } from '../experiment/plan.ts'
import { type Rejection, rejectionError } from '../experiment/rejection.ts'

type Rule = RulesFile['rules'][number]

/** The effects that no prediction includes. */
export const LEFT_OUT = [
  'servers that slow down or fail under load: each latency is sampled from the measured latencies',
  'calls that fail together: each real error is sampled independently',
  'abortOn, the guard and alerts: each stage runs to its end',
  'latencies above the highest measured latency',
] as const

/** The keys of `match` that a call without arguments, headers and pod can be compared with. */
const MATCHED = new Set(['direction', 'method', 'tool', 'transport', 'any', 'all', 'not'])
/** The end of rules, which no stage reaches. */
const END = Date.UTC(2100, 0)

/** Returns the rules of a stage as the sidecar reads them. */
export function stageRules(plan: Plan, stage: Stage): RulesFile {
  const parsed = parseRules(armedText(plan, 'simulated', stage, END).text)
  if (parsed.ok) return parsed.file
  const [problem] = parsed.problems
  throw rejectionError(
    'NOT_MODELLED',
    `the rules at ${stage.label} are invalid: ${problem?.path}: ${problem?.message}`,
    'check them with squall experiment validate',
  )
}

/** Returns what a plan holds that cannot be modelled. */
export function notModelled(plan: Plan): readonly Rejection[] {
  const { kill, exhaust, target } = plan.file
  const found: Rejection[] = []
  const add = (wrong: string, fix: string, ...path: readonly (string | number)[]): void =>
    void found.push({ code: 'NOT_MODELLED', wrong, fix, path })
  const RUN = 'run the plan instead, or simulate one without it'
  if (kill !== undefined) add('a killed process is not modelled', RUN, 'kill')
  if (exhaust !== undefined) add('held sessions are not modelled', RUN, 'exhaust')
  if (target.indirect) add('calls behind the target are unknown', RUN, 'target', 'indirect')
  if (plan.rules === undefined) {
    add('the plan has no rules', 'add rules with stages')
    return found
  }
  if (found.length > 0) return found
  for (const rule of stageRules(plan, plan.stages[0]!).rules) {
    for (const why of ruleProblems(rule)) {
      add(`rule ${quoted(rule.name)}: ${why}`, 'remove the rule, or run the plan', 'rules')
    }
  }
  return found
}

function ruleProblems(rule: Rule): readonly string[] {
  const keys = matchKeys(rule.match ?? {}).filter((key) => !MATCHED.has(key))
  return [
    ...keys.map((key) => `match.${key} is not modelled: only tools and methods are`),
    ...(rule.match?.direction === 'server' ? ['messages of the server are not modelled'] : []),
    ...((rule.stickyBy ?? 'ordinal') === 'ordinal' ? [] : ['stickyBy is not modelled']),
    ...(rule.from !== undefined || (rule.until ?? END) < END
      ? ['from and until are not modelled; use for']
      : []),
    ...rule.faults.flatMap((use) => {
      const why = faultProblem(use)
      return why === undefined ? [] : [`${use.fault} ${why}`]
    }),
  ]
}

function matchKeys(match: NonNullable<Rule['match']>): readonly string[] {
  const below = [...(match.any ?? []), ...(match.all ?? []), ...(match.not ? [match.not] : [])]
  return [...new Set([...Object.keys(match), ...below.flatMap(matchKeys)])]
}

/** Returns why a fault cannot be modelled; undefined when it can. */
function faultProblem({ fault, config }: Rule['faults'][number]): string | undefined {
  if (fault === 'abort') {
    return (config.status ?? 400) < 400 ? 'with a status below 400 is not modelled' : undefined
  }
  if (fault === 'delay') return config.at === 'event' ? 'at: event is not modelled' : undefined
  if (fault === 'hang') {
    return config.at === 'request' ? undefined : `at: ${config.at} is not modelled`
  }
  if (fault === 'reset') {
    if (config.refuse !== undefined) return 'with refuse is not modelled'
    return config.at === 'stream' ? 'at: stream is not modelled' : undefined
  }
  if (fault === 'rateLimit') {
    if (typeof config.by === 'string' && config.by !== 'session') {
      return config.retryAfterAs === 'date' ? 'with a date is not modelled' : undefined
    }
    return 'by session or header is not modelled'
  }
  return 'depends on the content of requests or responses, and is not modelled'
}
