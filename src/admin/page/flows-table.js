import { byId, make, setText } from './dom.js'
import { count, foreign } from './format.js'
import { nameCell, Table } from './table.js'

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
      { id: 'to', title: 'Used by', by: ({ to }) => to },
      { id: 'calls', title: 'Calls', by: ({ calls }) => calls, number: true },
      { id: 'hint', title: 'Destructive', by: ({ hint }) => HINTS[hint] },
    ],
    key: ({ from, to }) => JSON.stringify([from, to]),
    create: createRow,
    empty: 'No tool was seen with a value of another one.',
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
function createRow({ from, to }) {
  const [calls, hint] = [make('td', { class: 'number' }), make('td')]
  const row = make('tr', {}, nameCell(foreign(from)), make('td', {}, foreign(to)), calls, hint)
  /** @param {import('../contract/api.ts').Tasks['flows'][number]} now */
  const update = (now) => {
    setText(calls, count(now.calls))
    setText(hint, HINTS[now.hint] ?? foreign(now.hint))
  }
  return { row, update }
}
