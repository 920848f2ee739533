// Measures how long a scrape blocks the event loop: another process scrapes the real admin port.
// Times are CPU time of this process, so that other load does not affect them. They include the
// threads that collect garbage, and so are upper bounds.
// Needs a build: node bench/scrape-blocks.mjs [directory of modules]
import { fork } from 'node:child_process'
import { get } from 'node:http'
import { resolve } from 'node:path'
import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { median } from './lib/stats.mjs'

const SELF = fileURLToPath(import.meta.url)
const TOOLS = 200
const RULES = 100
const SCRAPES = 100
const WARM_UP = 20
const PAUSE_MS = 5
/** The kind of a full garbage collection in `performance`, rather than a minor one. */
const MAJOR = 4
const INCREMENTAL = 8

/** Milliseconds that this process has run. The time of a thread alone is in Linux's ticks only. */
function ran() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/**
 * Metrics of which each tool has been called, and hit by so many rules. @param {URL} modules @param
 * {number} hits
 */
async function filled(modules, hits) {
  const { Metrics } = await import(new URL('src/telemetry/metrics.js', modules).href)
  const metrics = new Metrics({ version: '0' })
  const call = { method: 'tools/call', outcome: 'ok', origin: 'real', seconds: 0.02 }
  for (let tool = 0; tool < TOOLS; tool++) {
    const name = `tool_of_this_server_${tool}`
    metrics.call({ ...call, name, upstreamSeconds: 0.01 })
    for (let hit = 0; hit < hits; hit++) {
      const rule = `rule-number-${(tool + hit) % RULES}`
      metrics.injected({ rule, fault: 'delay', tool: name, first: true, delaySeconds: 0.01 })
    }
  }
  const counts = { matched: 5, sampled: 3, applied: 2, overflow: 1, not_sampled: 2 }
  const rules = Array.from({ length: RULES }, (_, rule) => {
    return { name: `rule-number-${rule}`, isActive: true, active: 0, counts }
  })
  const rest = { armed: true, disarmed: {}, isActive: undefined, lastReload: undefined }
  metrics.showRules(() => ({ rules, ...rest }))
  return metrics
}

/** The admin port over such metrics. @param {URL} modules @param {number} hits */
async function startAdmin(modules, hits) {
  const { createAdmin } = await import(new URL('src/admin/server.js', modules).href)
  const quiet = () => undefined
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const readiness = () => ({ ready: true, reason: 'serving' })
  const metrics = await filled(modules, hits)
  const admin = createAdmin({ metrics, readiness, logger, version: '0' })
  const { port } = await admin.listen({ kind: 'tcp', host: '127.0.0.1', port: 0 })
  return { admin, port }
}

/** In the other process: scrapes on request. */
function scrapeWhenAsked() {
  process.on('message', ({ port, accept }) => {
    get({ port, host: '127.0.0.1', path: '/metrics', headers: { accept } }, (response) => {
      let lines = 0
      response.setEncoding('latin1')
      response.on('data', (/** @type {string} */ text) => {
        for (const line of text.split('\n')) lines += line.startsWith('squall_faults_inj') ? 1 : 0
      })
      response.on('end', () => process.send?.({ lines, complete: response.complete }))
    })
  })
}

/** One scrape: what it took in all, and in one piece at most. @param {Promise<unknown>} scraped */
async function watched(scraped) {
  let took = 0
  let longest = 0
  let over = false
  let last = ran()
  const look = () => {
    const block = ran() - last
    took += block
    longest = Math.max(longest, block)
    last = ran()
    if (!over) setImmediate(look)
  }
  setImmediate(look)
  await scraped
  over = true
  look()
  return { took, longest }
}

async function main() {
  const modules = pathToFileURL(
    `${resolve(process.argv[2] ?? `${import.meta.dirname}/../build/js`)}/`,
  )
  const scraper = fork(SELF, ['--scraper'])
  process.once('exit', () => scraper.kill())
  let major = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      const { kind } = /** @type {{ kind: number }} */ (detail)
      if (kind === MAJOR || kind === INCREMENTAL) major++
    }
  }).observe({ entryTypes: ['gc'] })
  const say = (/** @type {string} */ line) => void process.stdout.write(`${line}\n`)
  say(`${TOOLS} tools, ${RULES} rules; ${SCRAPES} scrapes; milliseconds of the process's CPU`)
  say('')
  say('| what | in all | longest block, median | p95 | highest | major collections |')
  say('| --- | ---: | ---: | ---: | ---: | ---: |')
  for (const [what, hits] of Object.entries({ usual: 1, 'all hit': RULES })) {
    for (const accept of ['text/plain', 'application/openmetrics-text']) {
      const { admin, port } = await startAdmin(modules, hits)
      const all = []
      for (let n = 0; n < WARM_UP + SCRAPES; n++) {
        if (n === WARM_UP) major = 0
        const responded = new Promise((done) => void scraper.once('message', done))
        scraper.send({ port, accept })
        all.push(await watched(responded))
        const { lines, complete } = await responded
        // A line may be cut where a piece of the response ends.
        if (!complete || lines < TOOLS * hits * 0.9) throw new Error(`${lines} series of faults`)
        await sleep(PAUSE_MS)
      }
      const rest = all.slice(WARM_UP)
      const blocks = rest.map(({ longest }) => longest).toSorted((a, b) => a - b)
      const cells = [
        median(rest.map(({ took }) => took)),
        median(blocks),
        blocks[Math.floor(SCRAPES * 0.95)] ?? Number.NaN,
        Math.max(...blocks),
      ]
      const numbers = cells.map((cell) => cell.toFixed(1)).join(' | ')
      say(
        `| ${what}, ${accept === 'text/plain' ? 'text' : 'OpenMetrics'} | ${numbers} | ${major} |`,
      )
      await admin.close()
    }
  }
  process.exit(0)
}

if (process.argv.includes('--scraper')) scrapeWhenAsked()
else await main()
