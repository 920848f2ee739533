import { byId, make, setText } from './dom.js'
import { count, foreign, many, seconds } from './format.js'
import { key } from './history.js'
import { nameCell, Table } from './table.js'

/** Returns the name of a tool; calls of other methods have none. */
export function toolName({ tool }) {
  return tool === '' ? 'Other methods' : foreign(tool)
}

/** Shows the calls by tool, by name. */
export function createToolsTable() {
  /** @type {readonly import('../contract/api.ts').Tool[]} */
  let tools = []
  const show = () => {
    table.show(tools.toSorted(byName))
    const all = tools.reduce((sum, tool) => sum + calls(tool), 0)
    setText(byId('tools-about'), `${many(all, 'call')} since the start. Latency: last 10 s.`)
  }
  const number = (id, title, by) => ({ id, title, by, number: true })
  const table = new Table('tools', {
    columns: [
      { id: 'tool', title: 'Tool', by: toolName },
      number('calls', 'Calls', calls),
      number('real', 'Real errors', ({ errors }) => errors.real),
      number('injected', 'Injected', ({ errors }) => errors.injected),
      number('elsewhere', 'Injected elsewhere', ({ errors }) => errors.injected_elsewhere),
      number('own', 'Squall’s own', ({ errors }) => errors.squall),
      number('p50', 'p50', ({ client }) => client?.p50),
      number('p95', 'p95', ({ client }) => client?.p95),
      number('upstream', 'Upstream p95', ({ upstream }) => upstream?.p95),
    ],
    key,
    create: createRow,
    empty: 'No call has ended yet.',
    sorted: show,
  })
  return {
    /** @param {import('../contract/api.ts').LiveEvent} event */
    show: (event) => {
      tools = event.tools
      show()
    },
  }
}

/** @param {import('../contract/api.ts').Tool} tool */
function createRow(tool) {
  const kinds = ['', 'real', 'injected', 'elsewhere', 'own', '', '', '']
  const cells = kinds.map((kind) => make('td', { class: `number ${kind}` }))
  const row = make('tr', {}, nameCell(toolName(tool)), ...cells)
  /** @param {import('../contract/api.ts').Tool} now */
  const update = (now) => {
    const { errors, client, upstream } = now
    const texts = [
      count(calls(now)),
      count(errors.real),
      count(errors.injected),
      count(errors.injected_elsewhere),
      count(errors.squall),
      seconds(client?.p50),
      seconds(client?.p95),
      seconds(upstream?.p95),
    ]
    for (const [i, text] of texts.entries()) setText(cells[i], text)
    row.dataset.real = String(errors.real > 0)
    row.dataset.injected = String(errors.injected > 0)
    row.dataset.elsewhere = String(errors.injected_elsewhere > 0)
    row.dataset.own = String(errors.squall > 0)
  }
  return { row, update }
}

/** @param {import('../contract/api.ts').Tool} tool */
function calls({ calls: { real, injected, squall, injected_elsewhere: elsewhere } }) {
  return real + injected + squall + elsewhere
}

/** Sorts by name; calls without a tool come last. */
function byName(a, b) {
  if (a.tool === '' || b.tool === '') return a.tool === '' ? 1 : -1
  return a.tool < b.tool ? -1 : 1
}
