import { byId, make, setText } from './dom.js'
import { count, foreign, many, seconds, timeOfDay } from './format.js'
import { nameCell, note, Table } from './table.js'

const KEPT = 200
const SHOWN = 50

/** Shows the last injected faults, newest first. */
export function createFaultsTable(filter) {
  /** @type {(import('../contract/api.ts').Fault & { number: number })[]} */
  let faults = []
  let total = 0
  const show = () => {
    const { rule } = filter
    const fitting = faults.filter((fault) => rule === undefined || fault.rule === rule)
    table.show(fitting, SHOWN)
    const shown = Math.min(fitting.length, SHOWN)
    const text = shown < total ? `The last ${shown} of ${count(total)}.` : ''
    setText(byId('faults-about'), text === '' ? `${many(total, 'fault')} so far.` : text)
  }
  const table = new Table('faults', {
    columns: [
      { id: 'time', title: 'Time', by: ({ at }) => at },
      { id: 'rule', title: 'Rule', by: ({ rule }) => rule },
      { id: 'call', title: 'Call', by: ({ tool, method }) => tool ?? method ?? '' },
      { id: 'effect', title: 'Effect', by: ({ delayMs }) => delayMs },
    ],
    key: ({ number }) => number,
    create: createRow,
    empty: 'No injected faults yet.',
    sorted: show,
  })
  return {
    /**
     * Keeps new faults, also while the page is paused.
     *
     * @param {import('../contract/api.ts').LiveEvent} event
     */
    take: ({ faults: { whole, total: all, faults: fresh } }) => {
      const numbered = fresh.map((fault, i) => ({ ...fault, number: all - i }))
      faults = (whole ? numbered : [...numbered, ...faults]).slice(0, KEPT)
      total = all
    },
    show,
  }
}

/** @param {import('../contract/api.ts').Fault} fault */
function createRow({ at, rule, fault, tool, method, id, session, effect, delayMs }) {
  const called = tool ?? method
  const markers = [
    id !== undefined && `id ${foreign(JSON.stringify(id), 70)}`,
    session !== undefined && `session ${foreign(session, 20)}`,
  ].filter(Boolean)
  const effects = [
    delayMs !== undefined && `${seconds(delayMs / 1000)} late`,
    effect !== undefined && foreign(effect, 160),
  ].filter(Boolean)
  const row = make(
    'tr',
    {},
    make('td', { class: 'time' }, make('time', { datetime: at ?? '' }, timeOfDay(at))),
    nameCell(foreign(rule), make('small', {}, foreign(fault, 40))),
    make(
      'td',
      {},
      make('span', { class: 'name' }, called === undefined ? 'HTTP' : foreign(called)),
      ...markers.map(note),
    ),
    make('td', { class: 'effect' }, effects.join(', ') || '–'),
  )
  return { row, update: () => undefined }
}
