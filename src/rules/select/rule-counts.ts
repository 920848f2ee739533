/**
 * What became of a call that a rule matches. For each such call one of these is counted:
 * `disarmed`, `forbidden` (a limit that the file cannot loosen says no), `other_pod`, `not_yet`, `expired`, `exhausted` (`times` is used up), `not_selected`
 * (by `first`, `after`, `every`), `not_drawn`, or the call was drawn. A drawn call ends as one of
 * `shadow`, `applied`, `overflow`, `spared` (a fault let it pass on purpose, as within a rate limit),
 * `not_applicable` (no fault could act on it), `not_reached` (it was over before a fault had its turn).
 */
export const RESULTS = [
  'disarmed',
  'forbidden',
  'other_pod',
  'not_yet',
  'expired',
  'exhausted',
  'not_selected',
  'not_drawn',
  'shadow',
  'applied',
  'overflow',
  'spared',
  'not_applicable',
  'not_reached',
] as const

/** What became of a call that a rule matches. */
export type RuleResult = (typeof RESULTS)[number]

/**
 * How often each came about, how often the rule matched and drew at all, and how often it was
 * evaluated on a value that is too long for its `regex`, whether or not it matched then.
 */
export type RuleCounts = Record<RuleResult | 'matched' | 'drawn' | 'value_too_long', number>

/** All at nought. */
export function noCounts(): RuleCounts {
  return {
    matched: 0,
    drawn: 0,
    value_too_long: 0,
    disarmed: 0,
    forbidden: 0,
    other_pod: 0,
    not_yet: 0,
    expired: 0,
    exhausted: 0,
    not_selected: 0,
    not_drawn: 0,
    shadow: 0,
    applied: 0,
    overflow: 0,
    spared: 0,
    not_applicable: 0,
    not_reached: 0,
  }
}
