import { listenForChanges } from './changes.js'
import { createCharts } from './charts.js'
import { byId, make, setAttribute, setFacts, setText } from './dom.js'
import { createFaultsTable } from './faults-table.js'
import { rate, seconds } from './format.js'
import { ALL, History, key } from './history.js'
import { createReloadCard } from './reload-card.js'
import { createRulesTable } from './rules-table.js'
import { createStateCard } from './state-card.js'
import { createToolsTable, toolName } from './tools-table.js'

const STALE_MS = 4_000
const AGAIN_MS = 3_000
const FEED = { waiting: 'Connecting…', live: 'Live', paused: 'Paused', lost: 'No connection' }

const history = new History()
const charts = createCharts()
const stateCard = createStateCard()
const faultsTable = createFaultsTable()
const parts = [stateCard, createReloadCard(), createRulesTable(), createToolsTable(), faultsTable]
const toolSelect = byId('tool')
const pauseButton = byId('pause')
let paused = false
let feed = 'waiting'
/** @type {import('../api.ts').LiveEvent | undefined} */
let newest

listenForChanges((arming) => stateCard.showArming(arming))
listen()
toolSelect.addEventListener('change', showTraffic)
pauseButton.addEventListener('click', () => {
  paused = !paused
  setAttribute(pauseButton, 'aria-pressed', String(paused))
  showFeed(feed)
  if (!paused && newest !== undefined) show()
})

/** @param {import('../api.ts').LiveEvent} event */
function take(event) {
  newest = event
  history.add(event)
  faultsTable.take(event)
  if (!paused) show()
}

function show() {
  for (const part of parts) part.show(newest)
  offerTools(newest.tools)
  showTraffic()
}

function showTraffic() {
  const tool = toolSelect.value
  const { calls, real, injected, p95, app95 } = history.last(tool)
  charts.show(history, tool)
  setFacts(byId('numbers'), [
    ['Calls/s', rate(calls)],
    ['Real errors/s', rate(real)],
    ['Injected errors/s', rate(injected)],
    ['p95 for clients', seconds(p95)],
    ['p95 of the app', seconds(app95)],
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
