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

const COUNTS = ['matched', 'sampled', 'value_too_long', ...RESULTS] as const

/**
 * Counts each result, matches and samples, and calls whose value was too long for the rule's
 * `regex`, whether or not the rule matched then.
 */
export type RuleCounts = Record<(typeof COUNTS)[number], number>

export function noCounts(): RuleCounts {
  return Object.fromEntries(COUNTS.map((name) => [name, 0])) as RuleCounts
}

export function addCounts(sum: RuleCounts, counts: Readonly<RuleCounts>): void {
  for (const name of COUNTS) sum[name] += counts[name]
}
