import type { FaultName } from '../../src/filters/index.ts'
import type { RealFailureName } from './real-failures.ts'
import type { SettingId } from './settings.ts'

/** Describes the client's reports, the execution by the server, and the counted outcome. */
export interface Observed {
  /** The client's report of the call. */
  readonly says: string
  /** The number of executions by the server. */
  readonly ran: number
  /** `outcome/origin` of the call. */
  readonly counted: string
  /** The result of the rule for the call: `injected`, `not_applicable`, `within_limit`. */
  readonly rule: string
  /** The client's report of a further call, which no rule matches. */
  readonly next: string
}

/** One way to use a fault, and the knowledge of it that nothing can be derived from. */
export interface ByHand {
  /** The fault and its parameters, as in a rules file. */
  readonly form: string
  /** The client's step before: list the tools, or make a call that the rule matches as well. */
  readonly before?: 'list' | 'call'
  /** The real failure that the fault imitates. */
  readonly real?: RealFailureName
  /** The real failure in these settings, where it differs. */
  readonly reals?: Readonly<Partial<Record<SettingId, RealFailureName>>>
  /** The explanation of the result, in all settings or in these. */
  readonly notes?: Readonly<Partial<Record<SettingId | 'all', string>>>
}

/** One way to use a fault. */
export interface Variant extends ByHand {
  readonly fault: FaultName
  /** The method of the request; by default a call of a tool. */
  readonly method?: 'tools/list'
}

/**
 * Returns the verdicts that Squall gives on a client that does what its SDK does: no SDK repeats
 * these calls, so that the client goes on, or calls the next tool after an error.
 */
export function verdictsOn(
  { fault, method }: Variant,
  { says, counted, rule }: Observed,
  listsAfterResult: boolean,
): readonly string[] {
  const isDecided = method === undefined && rule.startsWith('injected') && counted !== 'open'
  if (!isDecided) return []
  if (counted.startsWith('ok/')) return ['continued']
  if (says.startsWith('ok')) {
    // The client took the response of another id, and the call stays open until its stream ends:
    // before or after the next call arrives.
    if (counted.startsWith('abandoned/')) return ['gave_up or ambiguous']
    if (listsAfterResult) return ['relisted']
  }
  // Before the client leaves the stream, it makes the next call and lists the tools.
  if (listsAfterResult && counted.startsWith('abandoned/') && fault === 'corrupt') {
    return ['ambiguous']
  }
  return [says.startsWith('client dies') ? 'gave_up' : 'switched_tool']
}

/** Returns whether verdicts are what is expected, where an expected one may name two. */
export function fit(verdicts: readonly string[], expected: readonly string[]): boolean {
  return (
    verdicts.length === expected.length &&
    verdicts.every((verdict, index) => expected[index]!.split(' or ').includes(verdict))
  )
}

/** Returns the real failure that a fault imitates in a setting; undefined if there is none. */
export function realOf({ real, reals }: Variant, setting: SettingId): RealFailureName | undefined {
  return reals?.[setting] ?? real
}

/** A name for a variant, which no other one has. */
export function titleOf({ form, before }: ByHand): string {
  return `${form}${before === undefined ? '' : `, behind a ${before}`}`
}
