import { byId, make, setText } from './dom.js'
import { count, foreign } from './format.js'
import { Rows } from './rows.js'

const COLUMNS = ['open', 'ok', 'real', 'injected', 'sent', 'received']

/** Shows the connections to dependencies. */
export function createDestinationsCard() {
  const rows = new Rows(byId('destinations-rows'), {
    key: ({ destination }) => destination,
    create: createRow,
    columns: COLUMNS.length + 1,
    empty: 'No dependency is configured.',
  })
  return {
    /** @param {import('../contract/api.ts').LiveEvent} event */
    show: ({ destinations }) => {
      byId('destinations').hidden = destinations === undefined
      if (destinations !== undefined) rows.show(destinations)
    },
  }
}

/** @param {NonNullable<import('../contract/api.ts').LiveEvent['destinations']>[number]} destination */
function createRow({ destination }) {
  const cells = COLUMNS.map((column) => make('td', { class: `number ${column}` }))
  const name = make('span', { class: 'name' }, foreign(destination))
  const row = make('tr', {}, make('th', { scope: 'row' }, name), ...cells)
  /** @param {NonNullable<import('../contract/api.ts').LiveEvent['destinations']>[number]} now */
  const update = (now) => {
    for (const [i, column] of COLUMNS.entries()) setText(cells[i], count(now[column]))
  }
  return { row, update }
}
