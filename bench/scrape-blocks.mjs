// How long a scrape keeps the event loop from everything else, in CPU time of its own thread, so that
// a busy machine does not blur it. Needs a build, and Linux: node bench/scrape-blocks.mjs [dist]
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { median } from './lib/stats.mjs'

const dist = pathToFileURL(`${resolve(process.argv[2] ?? `${import.meta.dirname}/../dist`)}/`)
const { createMetrics } = await import(new URL('telemetry/metrics.js', dist).href)

const TOOLS = 200
const RULES = 100
const SCRAPES = 60
const WARM_UP = 10

/** Milliseconds that this thread has run. */
function ran() {
  return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6
}

/** Metrics of which each tool has been called, and hit by so many rules. @param {number} hits */
async function filled(hits) {
  const metrics = createMetrics({ version: '0' })
  await metrics.prepare()
  const call = { method: 'tools/call', outcome: 'ok', origin: 'upstream', seconds: 0.02 }
  for (let tool = 0; tool < TOOLS; tool++) {
    const name = `tool_of_this_server_${tool}`
    metrics.call({ ...call, name, upstreamSeconds: 0.01 })
    for (let hit = 0; hit < hits; hit++) {
      const rule = `rule-number-${(tool + hit) % RULES}`
      metrics.injected({ rule, fault: 'delay', tool: name, first: true, delaySeconds: 0.01 })
    }
  }
  const counts = { matched: 5, drawn: 3, applied: 2, overflow: 1, not_drawn: 2 }
  const rules = Array.from({ length: RULES }, (_, rule) => {
    return { name: `rule-number-${rule}`, inForce: true, active: 0, counts }
  })
  const rest = { armed: true, disarmed: {}, inForce: undefined, lastReload: undefined }
  metrics.showRules(() => ({ rules, ...rest }))
  return metrics
}

/** One scrape: what it takes in all, and in one piece at most. */
async function measured(metrics, format) {
  const began = ran()
  let last = began
  let longest = 0
  let over = false
  const look = () => {
    const now = ran()
    longest = Math.max(longest, now - last)
    last = now
    if (!over) setImmediate(look)
  }
  setImmediate(look)
  const exposition = await metrics.render(format)
  over = true
  look()
  return { longest, took: last - began, text: () => exposition.text }
}

process.stdout.write(
  `${TOOLS} tools, ${RULES} rules; ${SCRAPES} scrapes; milliseconds of the thread's CPU\n\n`,
)
process.stdout.write(
  '| what | first | its longest block | median | longest block, median | highest |\n',
)
process.stdout.write('| --- | ---: | ---: | ---: | ---: | ---: |\n')
for (const [what, hits] of Object.entries({ usual: 1, 'all hit': RULES })) {
  for (const format of ['prometheus', 'openmetrics']) {
    const metrics = await filled(hits)
    const first = await measured(metrics, format)
    const series = first
      .text()
      .split('\n')
      .filter((line) => line.startsWith('squall_faults_inj'))
    if (series.length !== TOOLS * hits) throw new Error(`${series.length} series of faults`)
    const later = []
    for (let n = 0; n < WARM_UP + SCRAPES; n++) {
      later.push(await measured(metrics, format))
      await sleep(5)
    }
    const rest = later.slice(WARM_UP)
    const blocks = rest.map(({ longest }) => longest)
    const cells = [
      first.took,
      first.longest,
      median(rest.map(({ took }) => took)),
      median(blocks),
      Math.max(...blocks),
    ]
    const numbers = cells.map((cell) => cell.toFixed(1)).join(' | ')
    process.stdout.write(`| ${what}, ${format} | ${numbers} |\n`)
  }
}
process.exit(0)
