import { byId } from './dom.js'
import { count, foreign } from './format.js'
import { Table } from './table.js'

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
  const counts = COUNTS.map(([id, title]) => ({
    id,
    title,
    number: true,
    text: (now) => count(now[id]),
  }))
  const table = new Table('destinations', {
    columns: [{ id: 'destination', title: 'Dependency' }, ...counts],
    key: ({ destination }) => destination,
    name: ({ destination }) => foreign(destination),
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
