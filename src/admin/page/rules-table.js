import { byId, make, setText } from './dom.js'
import { count, foreign, many, moment } from './format.js'
import { ruleLink } from './rule-filter.js'
import { note, Table } from './table.js'

// In the order of evaluation.
const WHY_NOT = [
  ['disarmed', 'disarmed'],
  ['forbidden', 'forbidden'],
  ['other_pod', 'for other pods'],
  ['not_yet', 'not started yet'],
  ['expired', 'expired'],
  ['quota_used', 'quota used'],
  ['not_selected', 'not selected'],
  ['not_sampled', 'not sampled'],
  ['dry_run', 'dry run'],
  ['concurrency_limit', 'concurrency limit'],
  ['within_limit', 'within limit'],
  ['not_applicable', 'not applicable'],
  ['not_reached', 'not reached'],
]

const COLUMNS = [
  { id: 'rule', title: 'Rule', by: ({ name }) => name },
  { id: 'share', title: 'Share', by: ({ percent }) => percent, number: true },
  { id: 'matched', title: 'Matched', by: ({ counts }) => counts.matched ?? 0, number: true },
  { id: 'sampled', title: 'Sampled', by: ({ sampled }) => sampled, number: true },
  { id: 'active', title: 'Active', by: ({ active }) => active, number: true },
  { id: 'status', title: 'Status', by: (rule) => statusOf(rule).text },
]

/** Shows the rules with their counts; idle rules stand out. */
export function createRulesTable() {
  /** @type {import('../contract/api.ts').LiveEvent | undefined} */
  let event
  let version
  /** The text of each rule, by its key. */
  let texts = new Map()
  const show = () => {
    const { state, rules } = event
    const shown = rules.rules.map((rule) => ({
      ...rule,
      armed: state.armed,
      text: texts.get(keyOf(rule)) ?? '',
    }))
    table.show(shown)
    setText(byId('rules-about'), about(rules.rules, rules.count))
  }
  const table = new Table('rules', {
    columns: COLUMNS,
    key: keyOf,
    create: createRow,
    empty: 'No rule is active.',
    sorted: show,
  })
  /** Asks for the texts of the rules, which events leave out. */
  const askTexts = async () => {
    const response = await fetch('api/rules').catch(() => undefined)
    if (response?.ok !== true) return
    /** @type {import('../contract/api.ts').Rules} */
    const { rules } = await response.json()
    texts = new Map(rules.map((rule) => [keyOf(rule), foreign(rule.text ?? '', 500)]))
    show()
  }
  return {
    /** @param {import('../contract/api.ts').LiveEvent} now */
    show: (now) => {
      event = now
      const { generation, digest, rules } = now.rules
      const added = rules.filter(({ temporary }) => temporary).map(keyOf)
      const found = `${generation} ${digest} ${added.join(' ')}`
      if (version !== found) {
        version = found
        void askTexts()
      }
      show()
    },
  }
}

/** @param {import('../contract/api.ts').Rule} rule */
function keyOf({ name, builtIn, temporary, since }) {
  // Another temporary fault may have the name of an earlier one.
  return `${builtIn === true}${temporary === true ? since : ''}${name}`
}

/** @param {readonly import('../contract/api.ts').Rule[]} rules */
function about(rules, all) {
  if (rules.length === 0) return ''
  const idle = rules.filter(({ sampled, phase }) => sampled === 0 && phase !== 'disabled').length
  const own = rules.filter(({ builtIn, temporary }) => !builtIn && !temporary).length
  const left = all > own ? ` ${many(all - own, 'more rule')} in the file not shown.` : ''
  const text =
    idle === 0
      ? 'Every rule has sampled calls.'
      : `${idle} of ${rules.length} rules have sampled no call yet.`
  return `${text}${left} Counts cover the current version of each rule.`
}

/** @param {import('../contract/api.ts').Rule} rule */
function detailsOf({ faults, about: what, builtIn, temporary, dryRun }) {
  const details = [
    faults.map((fault) => foreign(fault, 40)).join(' + '),
    what === 'http' && 'HTTP',
    dryRun && 'dry run',
    builtIn && 'requested by headers',
    temporary && 'temporary',
  ]
  return details.filter(Boolean).join(' · ')
}

/** @param {import('../contract/api.ts').Rule} created */
function createRow(created) {
  const { name } = created
  const link = { class: 'name', href: ruleLink(name), title: 'Show its faults and errors' }
  const summary = make('small')
  const whyNot = note('')
  const [share, matched, sampled, active] = [1, 2, 3, 4].map(() => make('td', { class: 'number' }))
  const text = make('code', { class: 'muted' })
  const badge = make('span', { class: 'badge' })
  const until = note('')
  const row = make(
    'tr',
    {},
    make('th', { scope: 'row' }, make('a', link, foreign(name)), text, summary, whyNot),
    share,
    matched,
    sampled,
    active,
    make('td', {}, badge, until),
  )
  /** @param {import('../contract/api.ts').Rule & { armed: boolean, text: string }} rule */
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
    setText(text, rule.text)
    setText(summary, rule.text === '' ? detailsOf(created) : '')
  }
  return { row, update }
}

/** @param {import('../contract/api.ts').Rule & { armed: boolean }} rule */
function statusOf({ phase, sampled, from, until, armed }) {
  if (phase === 'disabled') return { kind: 'over', text: 'Disabled in the file' }
  if (phase === 'expired') return { kind: 'over', text: `Expired at ${moment(until)}` }
  if (phase === 'not_yet') return { kind: 'over', text: `From ${moment(from)}` }
  if (phase === 'other_pod') return { kind: 'over', text: 'Other pods' }
  if (sampled === 0) return { kind: 'idle', text: 'Idle' }
  return armed ? { kind: 'on', text: 'On' } : { kind: 'over', text: 'Disarmed' }
}

/** @param {import('../contract/api.ts').Rule} rule */
function reasonsOf({ counts }) {
  return WHY_NOT.filter(([result]) => counts[result] > 0)
    .map(([result, word]) => `${word} ${count(counts[result])}`)
    .join(' · ')
}
