import { byId, make, setFacts, setText } from './dom.js'
import { foreign, many, moment } from './format.js'

const SHORT_DIGEST = 12
const WORDS = {
  none: 'Nothing yet',
  applied: 'Active',
  rejected: 'Rejected',
  absent: 'No rules file',
}

/** Shows what became of the last version of the rules, with every error in it. */
export function createReloadCard() {
  const card = byId('reload')
  const list = byId('problems')
  let before = ''

  return {
    /** @param {import('../contract/api.ts').LiveEvent} event */
    show: ({ state: { rules, lastReload } }) => {
      const result = lastReload?.result ?? 'none'
      card.dataset.result = result
      setText(byId('reload-result'), WORDS[result] ?? foreign(result))
      setText(byId('reload-about'), about(lastReload, rules))
      setFacts(byId('version'), facts(rules))
      const problems = lastReload?.problems ?? []
      const text = JSON.stringify(problems)
      if (text === before) return
      before = text
      list.replaceChildren(...problems.map(showProblem), ...more(lastReload))
    },
  }
}

/**
 * @param {import('../contract/api.ts').Reload | null} reload
 * @param {import('../contract/api.ts').State['rules']} rules
 */
function about(reload, { generation, since }) {
  if (reload === null) return 'No rules have been loaded yet.'
  const when = moment(reload.at)
  if (reload.result === 'applied') return `Active since ${when}.`
  if (reload.result === 'absent') return `Since ${when}: ${foreign(reload.reason, 300)}`
  const stays =
    generation === 0
      ? 'No rule is active.'
      : `Version ${generation} of ${moment(since)} stays active.`
  return `Found at ${when}, with ${many(reload.problemCount, 'error')}. ${stays}`
}

/** @param {import('../contract/api.ts').State['rules']} rules */
function facts({ count, generation, digest, since }) {
  return [
    ['Rules', String(count)],
    ['Version', generation === 0 ? 'none' : String(generation)],
    ['Since', moment(since)],
    ['Digest', digest === null ? 'none' : foreign(digest).slice(0, SHORT_DIGEST)],
  ]
}

/** @param {import('../contract/api.ts').Problem} problem */
function showProblem({ file, line, column, path, message }) {
  const location = `${foreign(file)}:${line}:${column}`
  return make(
    'li',
    {},
    make('code', { class: 'place' }, location),
    make('span', { class: 'message' }, foreign(message, 500)),
    ...(path === '' ? [] : [make('code', { class: 'muted path' }, foreign(path, 200))]),
  )
}

/** @param {import('../contract/api.ts').Reload | null} reload */
function more(reload) {
  const left = (reload?.problemCount ?? 0) - (reload?.problems?.length ?? 0)
  return left > 0 ? [make('li', { class: 'muted' }, `and ${many(left, 'more', 'more')}`)] : []
}
