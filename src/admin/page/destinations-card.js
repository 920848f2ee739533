import { byId, make, setText } from './dom.js'
import { count, foreign } from './format.js'
import { nameCell, Table } from './table.js'

const COUNTS = [
  ['open', 'Open'],
  ['ok', 'Ended OK'],
  ['real', 'Real failures'],
  ['injected', 'Injected failures'],
  ['sent', 'Bytes sent'],
  ['received', 'Bytes received'],
]

/** Shows the connections to dependencies. */
export function createDestinationsCard() {
  const counts = COUNTS.map(([id, title]) => ({ id, title, number: true }))
  const table = new Table('destinations', {
    columns: [{ id: 'destination', title: 'Dependency' }, ...counts],
    key: ({ destination }) => destination,
    create: createRow,
    empty: 'No dependency is configured.',
  })
  return {
    /** @param {import('../contract/api.ts').LiveEvent} event */
    show: ({ destinations }) => {
      byId('destinations').hidden = destinations === undefined
      if (destinations !== undefined) table.show(destinations)
    },
  }
}

/** @param {NonNullable<import('../contract/api.ts').LiveEvent['destinations']>[number]} destination */
function createRow({ destination }) {
  const cells = COUNTS.map(([id]) => make('td', { class: `number ${id}` }))
  const row = make('tr', {}, nameCell(foreign(destination)), ...cells)
  /** @param {NonNullable<import('../contract/api.ts').LiveEvent['destinations']>[number]} now */
  const update = (now) => {
    for (const [i, [id]] of COUNTS.entries()) setText(cells[i], count(now[id]))
  }
  return { row, update }
}
