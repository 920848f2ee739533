import { byId, setText } from './dom.js'
import { count, foreign, many, seconds } from './format.js'
import { key } from './history.js'
import { Table } from './table.js'

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
  const number = (id, title, by, shown = count) => {
    return { id, title, by, number: true, text: (tool) => shown(by(tool)) }
  }
  const table = new Table('tools', {
    columns: [
      { id: 'tool', title: 'Tool', by: toolName },
      number('calls', 'Calls', calls),
      number('real', 'Real errors', ({ errors }) => errors.real),
      number('injected', 'Injected', ({ errors }) => errors.injected),
      number('elsewhere', 'Injected elsewhere', ({ errors }) => errors.injected_elsewhere),
      number('own', 'Squall’s own', ({ errors }) => errors.squall),
      number('p50', 'p50', ({ client }) => client?.p50, seconds),
      number('p95', 'p95', ({ client }) => client?.p95, seconds),
      number('upstream', 'Upstream p95', ({ upstream }) => upstream?.p95, seconds),
    ],
    key,
    name: toolName,
    data: ({ errors }) => ({
      real: errors.real > 0,
      injected: errors.injected > 0,
      elsewhere: errors.injected_elsewhere > 0,
      own: errors.squall > 0,
    }),
    empty: 'No completed calls yet.',
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
function calls({ calls: { real, injected, squall, injected_elsewhere: elsewhere } }) {
  return real + injected + squall + elsewhere
}

/** Sorts by name; calls without a tool come last. */
function byName(a, b) {
  if (a.tool === '' || b.tool === '') return a.tool === '' ? 1 : -1
  return a.tool < b.tool ? -1 : 1
}
