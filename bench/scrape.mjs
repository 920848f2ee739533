// Measures the cost of a scrape, and its effect on calls.
// Needs a build: node bench/scrape.mjs [--squall FILE] [--scrapes N]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { whole } from './lib/options.mjs'
import { cpuMicros } from './lib/proc.mjs'
import { faultsOfScrape, RULES, scrape, scrapedSquall, TOOLS } from './lib/scraped-squall.mjs'
import { median } from './lib/stats.mjs'
import { timedCalls } from './lib/timed-calls.mjs'
import { workload } from './lib/workloads.mjs'
import { startUpstream } from './upstream/index.mjs'

const { values } = parseArgs({
  options: {
    squall: { type: 'string', default: resolve(import.meta.dirname, '../dist/cli/main.js') },
    scrapes: { type: 'string' },
  },
})
const SCRAPES = whole('--scrapes', values.scrapes, 60)
const WARM_UP = 10
const PAUSE_MS = 100
const ROUNDS = 7
const ROUND_SECONDS = 1

endChildrenWithThisProcess()
const directory = mkdtempSync(join(tmpdir(), 'squall-scrape-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))

/** @param {string} line */
const say = (line) => void process.stdout.write(`${line}\n`)

/** @param {readonly number[]} all @param {number} share */
function quantile(all, share) {
  const sorted = all.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** @param {number} value */
const ms = (value) => value.toFixed(1).padStart(8)

/**
 * Returns the median of a figure over the rounds without scrapes, and over those with them.
 * @param {readonly number[][]} without
 * @param {readonly number[][]} with_
 * @param {(round: readonly number[]) => number} figure
 */
function both(without, with_, figure) {
  return [without, with_].map((rounds) => median(rounds.map(figure)).toFixed(1)).join(' → ')
}

/**
 * @param {'usual' | 'all hit'} kind
 * @param {boolean} open
 * @param {number} upstreamPort
 */
async function measure(kind, open, upstreamPort) {
  const own = join(directory, kind)
  const setting = { directory: own, squallMain: resolve(values.squall), upstreamPort }
  const { port, admin, child } = await scrapedSquall(kind, setting)
  const first = await scrape(admin, open)
  const faults = faultsOfScrape(kind, first.body.toString(), open)
  if (faults.length > 0) throw new Error(`not timed, the scrape is wrong: ${faults.join('; ')}`)
  for (let n = 0; n < WARM_UP; n++) await scrape(admin, open)

  // Alone: what a scrape takes and costs.
  const took = []
  const before = cpuMicros(child.pid)
  for (let n = 0; n < SCRAPES; n++) took.push((await scrape(admin, open)).ms)
  const cpu = (cpuMicros(child.pid) - before) / 1000 / SCRAPES

  // Beside calls: rounds with and without scrapes in turn, so that a slow minute hits both.
  await timedCalls(port, ROUND_SECONDS)
  const beside = []
  /** @type {number[][]} */
  const quiet = []
  /** @type {number[][]} */
  const scraped = []
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(await timedCalls(port, ROUND_SECONDS))
    const calls = timedCalls(port, ROUND_SECONDS)
    const until = performance.now() + ROUND_SECONDS * 1000
    while (performance.now() < until) {
      beside.push((await scrape(admin, open)).ms)
      await sleep(PAUSE_MS)
    }
    scraped.push(await calls)
  }
  await child.stop()

  const text = first.body.toString()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  const format = open ? 'OpenMetrics' : 'text'
  return [
    `| ${kind}, ${format}`.padEnd(22),
    String(lines).padStart(7),
    (first.body.length / 1024).toFixed(0).padStart(7),
    ms(first.ms),
    ms(median(took)),
    ms(quantile(took, 0.95)),
    ms(cpu),
    ms(median(beside)),
    both(quiet, scraped, (round) => quantile(round, 0.99)).padStart(12),
    `${both(quiet, scraped, (round) => Math.max(...round))} |`.padStart(16),
  ].join(' | ')
}

const upstream = await startUpstream(workload('small'), directory)
say(
  `${TOOLS} tools, ${RULES} rules; ${SCRAPES} scrapes; times in ms; calls: 500 a second, ${ROUNDS} rounds of ${ROUND_SECONDS} s`,
)
say('')
say(
  '| what                 |   lines |     KiB |    first |   median |      p95 |      CPU | during calls | call p99, without → with | longest call |',
)
say('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
for (const kind of /** @type {const} */ (['usual', 'all hit'])) {
  for (const open of [false, true]) say(await measure(kind, open, upstream.port))
}
await upstream.child.stop()
