import { listenForChanges } from './changes.js'
import { createCharts } from './charts.js'
import { byId, make, setAttribute, setFacts, setText } from './dom.js'
import { createDestinationsCard } from './destinations-card.js'
import { createErrorsTable } from './errors-table.js'
import { createFaultsTable } from './faults-table.js'
import { rate, seconds } from './format.js'
import { ALL, key, Traffic } from './history.js'
import { createReloadCard } from './reload-card.js'
import { RuleFilter } from './rule-filter.js'
import { createRulesTable } from './rules-table.js'
import { createStateCard } from './state-card.js'
import { createTasksCard } from './tasks-card.js'
import { createToolsTable, toolName } from './tools-table.js'

const STALE_MS = 4_000
const AGAIN_MS = 3_000
const FEED = { waiting: 'Connecting…', live: 'Live', paused: 'Paused', lost: 'No connection' }

/** After this time, points of the sidecar replace those of the page. */
const HISTORY_MS = 60_000

const traffic = new Traffic()
const charts = createCharts()
const stateCard = createStateCard()
const filter = new RuleFilter(() => newest !== undefined && show())
const errorsTable = createErrorsTable(filter)
const faultsTable = createFaultsTable(filter)
const tasksCard = createTasksCard()
const parts = [
  stateCard,
  createReloadCard(),
  createRulesTable(),
  createToolsTable(),
  createDestinationsCard(),
  tasksCard,
  errorsTable,
  faultsTable,
]
const toolSelect = byId('tool')
const pauseButton = byId('pause')
let paused = false
let feed = 'waiting'
/** @type {import('../contract/api.ts').LiveEvent | undefined} */
let newest

void askHistory()
setInterval(() => void askHistory(), HISTORY_MS)
listenForChanges((arming) => stateCard.showArming(arming))
listen()
toolSelect.addEventListener('change', showTraffic)
pauseButton.addEventListener('click', () => {
  paused = !paused
  setAttribute(pauseButton, 'aria-pressed', String(paused))
  showFeed(feed)
  if (!paused && newest !== undefined) show()
})

/** @param {import('../contract/api.ts').LiveEvent} event */
function take(event) {
  newest = event
  if (!traffic.add(event)) void askHistory()
  faultsTable.take(event)
  void errorsTable.take(event)
  void tasksCard.take(event).then(() => !paused && tasksCard.show())
  if (!paused) show()
}

/** Takes the last minutes from the sidecar, so that a page that was just opened has charts. */
async function askHistory() {
  const response = await fetch('api/history').catch(() => undefined)
  if (response?.ok !== true) return
  traffic.take(await response.json())
  if (!paused && newest !== undefined) showTraffic()
}

function show() {
  for (const part of parts) part.show(newest)
  offerTools(newest.tools)
  showTraffic()
}

function showTraffic() {
  const tool = toolSelect.value
  const { calls, real, injected, squall, p95, upstreamP95 } = traffic.last(tool)
  charts.show(traffic, tool)
  setFacts(byId('numbers'), [
    ['Calls/s', rate(calls)],
    ['Real errors/s', rate(real)],
    ['Injected errors/s', rate(injected)],
    ['Squall’s own errors/s', rate(squall)],
    ['Client p95', seconds(p95)],
    ['Upstream p95', seconds(upstreamP95)],
  ])
}

function showFeed(state) {
  feed = state
  const shown = paused && feed === 'live' ? 'paused' : feed
  const line = byId('feed')
  setAttribute(line, 'data-feed', shown)
  setText(line.querySelector('b'), FEED[shown])
}

/** Adds tools in the order of their names, and removes none: the user may have chosen it. */
function offerTools(tools) {
  const offered = new Set([...toolSelect.options].map(({ value }) => value))
  for (const tool of tools) {
    const value = key(tool)
    if (offered.has(value)) continue
    const option = make('option', { value }, toolName(tool))
    const after = [...toolSelect.options].find((each) => each.value !== ALL && each.value > value)
    toolSelect.insertBefore(option, after ?? null)
  }
}

/** Listens to the events of Squall, and tries again where that fails. */
function listen() {
  let events
  let heard = 0

  const open = () => {
    events = new EventSource('api/events')
    events.addEventListener('message', ({ data }) => {
      heard = Date.now()
      showFeed('live')
      take(JSON.parse(data))
    })
    events.addEventListener('error', () => {
      showFeed('lost')
      // Browsers try again only where a connection broke, not after an error status.
      if (events.readyState === EventSource.CLOSED) setTimeout(open, AGAIN_MS)
    })
  }

  setInterval(() => {
    if (heard > 0 && Date.now() - heard > STALE_MS) showFeed('lost')
  }, 1_000)
  // A hidden page needs no events, and its stream would occupy a connection that others could use.
  addEventListener('pagehide', () => events.close())
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) open()
  })
  open()
}
