/**
 * What became of a call that a rule matches. For each such call one of these is counted:
 * `disarmed`, `forbidden` (a limit that the file cannot loosen says no), `other_pod`, `not_yet`, `expired`, `quota_used` (`times` is used up), `not_selected`
 * (by `first`, `after`, `every`), `not_sampled`, or the call was drawn. A drawn call ends as one of
 * `dry_run`, `injected`, `concurrency_limit`, `within_limit` (a fault let it pass on purpose, as within a rate limit),
 * `not_applicable` (no fault could act on it), `not_reached` (it was over before a fault had its turn).
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

/** What became of a call that a rule matches. */
export type RuleResult = (typeof RESULTS)[number]

/**
 * How often each came about, how often the rule matched and drew at all, and how often it was
 * evaluated on a value that is too long for its `regex`, whether or not it matched then.
 */
export type RuleCounts = Record<RuleResult | 'matched' | 'sampled' | 'value_too_long', number>

/** All at nought. */
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
