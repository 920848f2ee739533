import { byId, make, setText } from './dom.js'
import { foreign, many, timeOfDay } from './format.js'
import { Rows } from './rows.js'
import { Sorting } from './sorting.js'

const SHOWN = 5
const AGAIN_MS = 5_000

/** Shows what to test next, with reasons and plans. */
export function createNextCard() {
  /** @type {readonly import('../api.ts').Next['ranks'][number][]} */
  let ranks = []
  let askedAt = -Infinity
  const rows = new Rows(byId('next-rows'), {
    key: ({ tool, question }) => JSON.stringify([tool, question]),
    create: createRow,
    columns: 4,
    empty: 'No tool was called lately.',
  })
  const show = () => rows.show(sorting.sorted(ranks.slice(0, SHOWN)))
  const sorting = new Sorting(
    byId('next'),
    { test: ({ tool }) => tool, fault: ({ fault }) => fault, score: ({ score }) => score },
    show,
  )
  /** Asks the sidecar, which ranks on request. */
  const ask = async () => {
    askedAt = performance.now()
    const response = await fetch('api/next').catch(() => undefined)
    if (response?.ok !== true) return
    /** @type {import('../api.ts').Next} */
    const next = await response.json()
    ranks = next.ranks
    const calls = next.tools.reduce((sum, tool) => sum + tool.calls, 0)
    setText(byId('next-about'), `By ${many(calls, 'call')} since ${timeOfDay(next.since)}.`)
    show()
  }
  return {
    ask,
    /**
     * Asks again once there are calls.
     *
     * @param {import('../api.ts').LiveEvent} event
     */
    show: ({ tools }) => {
      const isDue = performance.now() - askedAt > AGAIN_MS
      if (ranks.length === 0 && tools.length > 0 && isDue) void ask()
    },
  }
}

/** @param {import('../api.ts').Next['ranks'][number]} rank */
function createRow({ tool, fault, asks }) {
  const score = make('td', { class: 'number' })
  const reasons = make('ul', { class: 'plain' })
  const plan = make('pre', { tabindex: '0', 'aria-label': `Plan for ${foreign(tool)}, ${fault}` })
  const details = make('details', {}, make('summary', {}, 'Plan'), plan, ...copyButton(plan))
  const row = make(
    'tr',
    {},
    make('th', { scope: 'row' }, make('span', { class: 'name' }, foreign(tool))),
    make(
      'td',
      {},
      make('span', { class: 'name' }, foreign(fault, 40)),
      make('small', {}, foreign(asks)),
    ),
    score,
    make('td', {}, reasons, details),
  )
  let before = ''
  /** @param {import('../api.ts').Next['ranks'][number]} now */
  const update = (now) => {
    setText(score, now.score.toFixed(2))
    const shown = JSON.stringify([now.plan, now.reasons])
    if (shown === before) return
    before = shown
    reasons.replaceChildren(...now.reasons.map((reason) => make('li', {}, foreign(reason, 250))))
    setText(plan, now.plan)
  }
  return { row, update }
}

/** Makes a button where the browser has a clipboard for this page: on localhost, or by HTTPS. */
function copyButton(plan) {
  if (navigator.clipboard === undefined) return []
  const button = make('button', { type: 'button' }, 'Copy the plan')
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(plan.textContent).then(
      () => setText(button, 'Copied'),
      () => setText(button, 'The browser does not allow it'),
    )
  })
  return [button]
}
