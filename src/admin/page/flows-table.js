import { byId } from './dom.js'
import { count, foreign } from './format.js'
import { Table } from './table.js'

const HINTS = { read_only: 'No', additive: 'No', destructive: 'Yes', unknown: 'Not declared' }

/** Shows which tools get values from the results of others. */
export function createFlowsTable() {
  /** @type {import('../contract/api.ts').Tasks['flows']} */
  let flows = []
  const show = () => {
    byId('flows').hidden = flows.length === 0
    table.show(flows)
  }
  const table = new Table('flows', {
    columns: [
      { id: 'from', title: 'Result of', by: ({ from }) => from },
      { id: 'to', title: 'Used by', by: ({ to }) => to, text: ({ to }) => foreign(to) },
      {
        id: 'calls',
        title: 'Calls',
        by: ({ calls }) => calls,
        number: true,
        text: ({ calls }) => count(calls),
      },
      { id: 'hint', title: 'Destructive', by: hintOf, text: hintOf },
    ],
    key: ({ from, to }) => JSON.stringify([from, to]),
    name: ({ from }) => foreign(from),
    empty: 'No tool has used a value from another tool yet.',
    sorted: show,
  })
  return {
    /** @param {import('../contract/api.ts').Tasks['flows']} now */
    show: (now) => {
      flows = now
      show()
    },
  }
}

/** @param {import('../contract/api.ts').Tasks['flows'][number]} flow */
function hintOf({ hint }) {
  return HINTS[hint] ?? foreign(hint)
}
