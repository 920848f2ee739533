/**
 * The results of a rule for a call that it matches; one of them is counted for each call:
 * `disarmed`, `forbidden` (by a limit that the file cannot loosen), `other_pod`, `not_yet`,
 * `expired`, `quota_used` (`times` is used up), `not_selected` (by `first`, `after`, `every`),
 * `not_sampled`, or the call is sampled. A sampled call ends as one of `dry_run`, `injected`,
 * `concurrency_limit`, `within_limit` (a fault let it pass on purpose, as within a rate limit),
 * `not_applicable` (no fault could act on it), `not_reached` (it ended before a fault could act).
 */
export const RESULTS = [
  'disarmed',
  'forbidden',
  'other_pod',
  'not_yet',
  'expired',
  'quota_used',
  'not_selected',
  'not_sampled',
  'dry_run',
  'injected',
  'concurrency_limit',
  'within_limit',
  'not_applicable',
  'not_reached',
] as const

/** The result of a rule for a call that it matches. */
export type RuleResult = (typeof RESULTS)[number]

/**
 * Counts each result, matches and samples, and calls whose value was too long for the rule's
 * `regex`, whether or not the rule matched then.
 */
export type RuleCounts = Record<RuleResult | 'matched' | 'sampled' | 'value_too_long', number>

export function noCounts(): RuleCounts {
  return {
    matched: 0,
    sampled: 0,
    value_too_long: 0,
    disarmed: 0,
    forbidden: 0,
    other_pod: 0,
    not_yet: 0,
    expired: 0,
    quota_used: 0,
    not_selected: 0,
    not_sampled: 0,
    dry_run: 0,
    injected: 0,
    concurrency_limit: 0,
    within_limit: 0,
    not_applicable: 0,
    not_reached: 0,
  }
}
