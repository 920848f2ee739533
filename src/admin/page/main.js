import { listenForChanges } from './changes.js'
import { createCharts } from './charts.js'
import { byId, make, setAttribute, setFacts, setText } from './dom.js'
import { createFaultsTable } from './faults-table.js'
import { listen } from './feed.js'
import { rate, seconds } from './format.js'
import { ALL, History, key } from './history.js'
import { createReloadCard } from './reload-card.js'
import { createRulesTable } from './rules-table.js'
import { createStateCard } from './state-card.js'
import { createToolsTable, toolName } from './tools-table.js'

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
listen({
  onData: (snapshot) => {
    newest = snapshot
    history.add(snapshot)
    faultsTable.take(snapshot)
    if (!paused) show()
  },
  onState: (state) => {
    feed = state
    showFeed()
  },
})
toolSelect.addEventListener('change', showTraffic)
pauseButton.addEventListener('click', () => {
  paused = !paused
  setAttribute(pauseButton, 'aria-pressed', String(paused))
  showFeed()
  if (!paused && newest !== undefined) show()
})

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

function showFeed() {
  const shown = paused && feed === 'live' ? 'paused' : feed
  const line = byId('feed')
  setAttribute(line, 'data-feed', shown)
  setText(line.querySelector('b'), FEED[shown])
}

/** Tools are added where they belong by name, and never taken away: one may be chosen. */
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
