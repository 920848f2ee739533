import { byId, make, setAttribute, setFacts, setText } from './dom.js'
import { count, foreign, many, percent } from './format.js'
import { createFlowsTable } from './flows-table.js'
import { nameCell, note, Table } from './table.js'

const SHOWN = 50
const AGAIN_MS = 2_000
const RESULTS = { ok: 'OK', recovered: 'Recovered', failed: 'Failed' }

/** Shows tasks of agents, and what the agents did after faults and errors. */
export function createTasksCard() {
  /** @type {import('../contract/api.ts').Tasks | undefined} */
  let tasks
  /** @type {import('../contract/api.ts').Agents | undefined} */
  let agents
  let askedAt = -Infinity
  const flowsTable = createFlowsTable()
  const show = () => {
    byId('tasks').hidden = tasks === undefined
    if (tasks === undefined) return
    showNumbers(tasks)
    flowsTable.show(tasks.flows)
    byId('findings').replaceChildren(...(agents?.findings ?? []).map(showFinding))
    const met = tasks.tasks.filter(({ events }) => events > 0)
    table.show(met, SHOWN)
    const about = `The last ${many(Math.min(met.length, SHOWN), 'task')} with faults or errors, by what agents did within ${tasks.windowSeconds} s.`
    setText(byId('tasks-about'), met.length === 0 ? '' : about)
  }
  const table = new Table('tasks', {
    columns: [
      { id: 'task', title: 'Task', by: ({ task }) => task },
      { id: 'verdicts', title: 'Verdicts', by: ({ verdicts }) => verdicts.at(-1)?.verdict ?? '' },
      { id: 'calls', title: 'Calls', by: ({ calls }) => calls, number: true },
      { id: 'retries', title: 'Retries', by: ({ retries }) => retries, number: true },
      { id: 'wasted', title: 'Wasted', by: ({ wasted }) => wasted, number: true },
      { id: 'result', title: 'Result', by: ({ result }) => result },
    ],
    key: ({ by, task, beganAt }) => JSON.stringify([by, task, beganAt]),
    create: createRow,
    empty: 'No tasks with faults or errors yet.',
    sorted: show,
  })
  return {
    /**
     * Asks for the tasks where calls are grouped, but not each time.
     *
     * @param {import('../contract/api.ts').LiveEvent} event
     */
    take: async ({ tasks: open }) => {
      const now = performance.now()
      if (open === undefined || now - askedAt < AGAIN_MS) return
      askedAt = now
      const found = await Promise.all([ask('api/tasks'), ask('api/agents')])
      tasks = found[0] ?? tasks
      agents = found[1] ?? agents
    },
    show,
  }
}

/** @param {import('../contract/api.ts').Tasks} tasks */
function showNumbers(tasks) {
  const { ended, retriesPerTask, blastRadius, wasted } = tasks
  setFacts(byId('tasks-numbers'), [
    ['Open', count(tasks.open)],
    ['Ended OK', count(ended.ok)],
    ['Recovered', count(ended.recovered)],
    ['Failed', count(ended.failed)],
    ['Blast radius', percent(blastRadius)],
    ['Retries per task', retriesPerTask === null ? '–' : retriesPerTask.toFixed(2)],
    ['Wasted calls', count(wasted)],
  ])
  setFacts(
    byId('verdict-numbers'),
    Object.entries(tasks.totals)
      .filter(([, total]) => total > 0)
      .map(([verdict, total]) => [foreign(verdict, 40).replaceAll('_', ' '), count(total)]),
  )
}

/** Asks for JSON; undefined without any. */
async function ask(path) {
  const response = await fetch(path).catch(() => undefined)
  return response?.ok === true ? response.json() : undefined
}

/** @param {import('../contract/api.ts').Finding} finding */
function showFinding({ sentence, advice, source, client, severity }) {
  const who = source === 'load' ? 'squall load' : foreign(client ?? 'a client without a name')
  return make(
    'li',
    {},
    make('strong', {}, foreign(sentence, 1000)),
    note(foreign(advice, 500)),
    note(`${foreign(severity, 40)} · ${who}`),
  )
}

/** @param {import('../contract/api.ts').Tasks['tasks'][number]} task */
function createRow({ task, by }) {
  const list = make('ul', { class: 'plain' })
  const numbers = [0, 1, 2].map(() => make('td', { class: 'number' }))
  const result = make('td')
  const row = make(
    'tr',
    {},
    nameCell(foreign(task), note(foreign(by, 40))),
    make('td', {}, list),
    ...numbers,
    result,
  )
  let before = ''
  /** @param {import('../contract/api.ts').Tasks['tasks'][number]} now */
  const update = (now) => {
    for (const [i, value] of [now.calls, now.retries, now.wasted].entries()) {
      setText(numbers[i], count(value))
    }
    setText(result, now.open ? 'Open' : (RESULTS[now.result] ?? foreign(now.result)))
    setAttribute(row, 'data-result', now.open ? 'open' : now.result)
    const text = JSON.stringify([now.verdicts, now.waiting])
    if (text === before) return
    before = text
    const waiting = now.waiting > 0 ? [make('li', { class: 'muted' }, 'Waiting for the agent')] : []
    list.replaceChildren(...now.verdicts.toReversed().map(showVerdict), ...waiting)
  }
  return { row, update }
}

/** @param {import('../contract/api.ts').VerdictLine} line */
function showVerdict({ faults, tool, method, verdict, retries }) {
  const times = retries > 1 ? ` (${many(retries, 'retry', 'retries')})` : ''
  return make(
    'li',
    {},
    make('strong', {}, `${foreign(verdict, 40).replaceAll('_', ' ')}${times}`),
    note(
      `after ${faults.map((fault) => foreign(fault, 40)).join(', ')} on ${foreign(tool ?? method)}`,
    ),
  )
}
