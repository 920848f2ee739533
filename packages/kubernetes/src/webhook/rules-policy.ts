import { setImmediate as nextTurn } from 'node:timers/promises'
import { durationText, instantText, quoted } from '#base'
import { readText } from '#cli'
import {
  MAX_POLICY_BYTES,
  placeViolations,
  type Policy,
  problemLines,
  readPolicy,
  ruleEnd,
  type RulesFile,
  ruleViolations,
  type Violation,
} from '#rules'
import type { Logger } from '#sidecar'
import { namespaceEnvironment } from '../injector/gatekeeper.ts'
import type { InjectionContext } from '../injector/injection.ts'

/** A rule that injects faults. */
export type ActingRule = RulesFile['rules'][number]

/** New rules, and where and when they would act. */
interface NewRules extends Pick<InjectionContext, 'namespace' | 'settings'> {
  readonly rules: readonly ActingRule[]
  readonly now: number
  readonly signal: AbortSignal
}

/** Returns why a policy does not allow new rules: a line for each reason, or none. */
export type RulesPolicy = (rules: NewRules) => Promise<readonly string[]>

const MAX_LINES = 100
/** Rules are checked between other reviews; the time of a slice, in milliseconds. */
const SLICE = 10
/** Whoever wrote `until` had another clock than the API server. */
const MAX_SKEW = 60_000

/**
 * Opens the policy in a file, which is read at each review so that a change applies at once. A
 * policy that cannot be read allows nothing new.
 */
export async function openPolicy(path: string, logger: Logger): Promise<RulesPolicy> {
  let known: { readonly text: string; readonly policy: Policy | string } | undefined
  const read = async (): Promise<Policy | string> => {
    const text = await readText(path, MAX_POLICY_BYTES, 'the policy').catch(
      (error: unknown) => error as Error,
    )
    const shown = typeof text === 'string' ? text : text.message
    if (known?.text === shown) return known.policy
    known = { text: shown, policy: typeof text === 'string' ? parsed(text) : text.message }
    if (typeof known.policy !== 'string') logger.info({ path }, 'policy loaded')
    else logger.error({ path, detail: known.policy }, 'the policy cannot be used')
    return known.policy
  }
  await read()
  return async (asked) => {
    const policy = await read()
    if (typeof policy === 'string') return [`no new rules: ${policy}`]
    return (await violations(asked, policy)).map(({ wrong, fix }) => `${wrong}; ${fix}`)
  }
}

function parsed(text: string): Policy | string {
  const read = readPolicy(text)
  if (read.ok) return read.policy
  const [problem] = read.problems
  return `the policy is invalid: ${problemLines({ file: 'policy', problems: [problem!] }).trimEnd()}`
}

async function violations(asked: NewRules, policy: Policy): Promise<readonly Violation[]> {
  const found = [...whereViolations(asked, policy)]
  let since = performance.now()
  for (const rule of asked.rules) {
    const uses = rule.faults.map(({ fault }) => fault)
    found.push(...ruleViolations(rule, uses, policy), ...sizeViolations(rule, asked.now, policy))
    if (found.length > MAX_LINES) break
    if (performance.now() - since < SLICE) continue
    await nextTurn()
    if (asked.signal.aborted) break
    since = performance.now()
  }
  return found
}

function whereViolations({ namespace, settings }: NewRules, policy: Policy): readonly Violation[] {
  const environment = namespaceEnvironment({ namespace, settings, owner: '' })
  const names = [
    { where: 'the namespace', name: namespace.name },
    { where: 'the environment of the namespace', name: environment },
  ]
  const found = placeViolations(environment, names, policy)
  if (environment !== undefined) return found
  const wrong = `the namespace ${quoted(namespace.name)} has no environment label`
  const label = `${settings.environmentLabel}=${policy.environments[0]}`
  return [...found, { wrong, fix: `label it, such as ${label}` }]
}

/** Returns why a rule acts on too many calls, or for too long. */
function sizeViolations(rule: ActingRule, now: number, policy: Policy): readonly Violation[] {
  const found: Violation[] = []
  const { maxPercent, maxDuration, requireUntil } = policy
  const share = Number(largestShare(rule).toFixed(4))
  if (share > maxPercent) {
    const wrong = `the rule ${quoted(rule.name)} acts on ${share}% of calls, above maxPercent: ${maxPercent}% of the policy`
    found.push({ wrong, fix: `write percent: ${maxPercent}%` })
  }
  if (!requireUntil) return found
  // Without appliedAt, the time of `for` begins again in each new pod.
  const end = rule.appliedAt === undefined ? (rule.until ?? Infinity) : ruleEnd(rule, now)
  const lasts = end - Math.max(rule.from ?? now, now)
  if (lasts <= maxDuration + MAX_SKEW) return found
  const most = durationText(maxDuration)
  const wrong =
    end === Infinity
      ? `the rule ${quoted(rule.name)} has no end, and the policy has requireUntil`
      : `the rule ${quoted(rule.name)} ends after ${durationText(Math.round(lasts / 1000) * 1000)}, later than maxDuration: ${most} of the policy`
  const until = instantText(now + maxDuration)
  return [...found, { wrong, fix: `write until: ${until}, or use squall apply --for ${most}` }]
}

/** Returns the largest share of calls that a rule may sample, over all pods, in percent. */
function largestShare(rule: ActingRule): number {
  const { percent, probability, stages, ramp, burst, pods = 100 } = rule
  const given = probability === undefined ? percent : probability * 100
  const share = Math.max(given ?? (ramp || stages ? 0 : 100), ramp?.to ?? 0, ...(stages ?? []))
  return (share * (burst?.rate ?? 1) * pods) / 100
}
