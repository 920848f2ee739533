import { byId, make, setText } from './dom.js'
import { count, foreign, many, moment } from './format.js'
import { Rows } from './rows.js'

// In the order of evaluation.
const WHY_NOT = [
  ['disarmed', 'disarmed'],
  ['forbidden', 'forbidden'],
  ['other_pod', 'for other pods'],
  ['not_yet', 'too early'],
  ['expired', 'expired'],
  ['quota_used', 'used up'],
  ['not_selected', 'not selected'],
  ['not_sampled', 'not sampled'],
  ['dry_run', 'dry run'],
  ['concurrency_limit', 'concurrency limit'],
  ['within_limit', 'within limit'],
  ['not_applicable', 'not applicable'],
  ['not_reached', 'not reached'],
]

/** Shows the rules with their counts; idle rules stand out. */
export function createRulesTable() {
  const rows = new Rows(byId('rules-rows'), {
    key: ({ name, builtIn }) => `${builtIn === true}${name}`,
    create: createRow,
    columns: 6,
    empty: 'No rule is active.',
  })
  return {
    /** @param {import('../api.ts').LiveEvent} event */
    show: ({ state: { armed }, rules: { rules, count: all } }) => {
      rows.show(rules.map((rule) => ({ ...rule, armed })))
      setText(byId('rules-about'), about(rules, all))
    },
  }
}

/** @param {readonly import('../api.ts').Rule[]} rules */
function about(rules, all) {
  if (rules.length === 0) return ''
  const idle = rules.filter(({ sampled, phase }) => sampled === 0 && phase !== 'disabled').length
  const own = rules.filter(({ builtIn }) => builtIn !== true).length
  const left = all > own ? ` ${many(all - own, 'more rule')} of the file not shown.` : ''
  const text =
    idle === 0 ? 'Every rule has sampled calls.' : `${idle} of ${rules.length} sampled no call yet.`
  return `${text}${left} Counts are of this version of each rule.`
}

/** @param {import('../api.ts').Rule} rule */
function createRow({ name, faults, about: what, builtIn, dryRun }) {
  const details = [
    faults.map((fault) => foreign(fault, 40)).join(' + '),
    ...(what === 'http' ? ['HTTP'] : []),
    ...(dryRun === true ? ['dry run'] : []),
    ...(builtIn === true ? ['requested by headers'] : []),
  ]
  const whyNot = make('small', { class: 'muted' })
  const [share, sampled] = [1, 2].map(() => make('td', { class: 'number' }))
  const [matched, active] = [1, 2].map(() => make('td', { class: 'number roomy' }))
  const badge = make('span', { class: 'badge' })
  const until = make('small', { class: 'muted' })
  const row = make(
    'tr',
    {},
    make(
      'th',
      { scope: 'row' },
      make('span', { class: 'name' }, foreign(name)),
      make('small', {}, details.filter((text) => text !== '').join(' · ')),
      whyNot,
    ),
    share,
    matched,
    sampled,
    active,
    make('td', {}, badge, until),
  )
  /** @param {import('../api.ts').Rule & { armed: boolean }} rule */
  const update = (rule) => {
    const status = statusOf(rule)
    row.dataset.status = status.kind
    setText(share, rule.percent === null ? '–' : `${+rule.percent.toFixed(2)} %`)
    setText(matched, count(rule.counts.matched ?? 0))
    setText(sampled, count(rule.sampled))
    setText(active, count(rule.active))
    setText(badge, status.text)
    setText(until, rule.phase === 'on' && rule.until !== null ? `until ${moment(rule.until)}` : '')
    setText(whyNot, reasonsOf(rule))
  }
  return { row, update }
}

/** @param {import('../api.ts').Rule & { armed: boolean }} rule */
function statusOf({ phase, sampled, from, until, armed }) {
  if (phase === 'disabled') return { kind: 'over', text: 'Disabled in the file' }
  if (phase === 'expired') return { kind: 'over', text: `Over since ${moment(until)}` }
  if (phase === 'not_yet') return { kind: 'over', text: `From ${moment(from)}` }
  if (phase === 'other_pod') return { kind: 'over', text: 'Other pods' }
  if (sampled === 0) return { kind: 'idle', text: 'Idle' }
  return armed ? { kind: 'on', text: 'On' } : { kind: 'over', text: 'Disarmed' }
}

/** @param {import('../api.ts').Rule} rule */
function reasonsOf({ counts }) {
  return WHY_NOT.filter(([result]) => counts[result] > 0)
    .map(([result, word]) => `${word} ${count(counts[result])}`)
    .join(' · ')
}
