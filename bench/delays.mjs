// Measures the accuracy of delays during other calls.
// Needs a build: node bench/delays.mjs [seconds]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { post } from './lib/check.mjs'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { startPeer } from './lib/running-peer.mjs'
import { workload } from './lib/workloads.mjs'
import { squall } from './peers/squall.mjs'
import { startUpstream } from './upstream/index.mjs'

const SECONDS = Number(process.argv[2] ?? 10)
const DELAY_MS = 50
/** Calls a second: those that are timed, and those beside them. */
const TIMED = 100
const BESIDE = 900

endChildrenWithThisProcess()
const directory = mkdtempSync(join(tmpdir(), 'squall-delays-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const rulesFile = join(directory, 'rules.yaml')
writeFileSync(
  rulesFile,
  `rules:\n  - name: late\n    match: { tool: late }\n    faults: [delay: { fixed: ${DELAY_MS}ms }]\n`,
)

const small = workload('small')
const upstream = await startUpstream(small, directory)
const squallMain = resolve(import.meta.dirname, '../dist/cli/main.js')
const running = await startPeer(squall, upstream.port, { directory, squallMain, rulesFile })
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** @type {number[]} */
const late = []
/** @type {number[]} */
const plain = []

const call = JSON.parse(small.request)
const lateRequest = JSON.stringify({ ...call, params: { ...call.params, name: 'late' } })

/** @param {number[]} into @param {string} body */
async function timed(into, body) {
  const begun = performance.now()
  await post(running.port, agent, body)
  into.push(performance.now() - begun)
}

/** @param {number} rate @param {() => Promise<void>} send */
async function steadily(rate, send) {
  const begun = performance.now()
  const calls = []
  for (let n = 0; performance.now() - begun < SECONDS * 1000; n++) {
    calls.push(send())
    const due = begun + (1000 * (n + 1)) / rate
    if (due > performance.now()) await sleep(due - performance.now())
  }
  await Promise.all(calls)
}

await steadily(BESIDE, () => timed([], small.request))
await Promise.all([
  steadily(TIMED, () => timed(late, lateRequest)),
  steadily(BESIDE, () => timed(plain, small.request)),
])
await running.child?.stop()
await upstream.child.stop()
agent.destroy()

/** @param {readonly number[]} values @param {number} share */
function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const rows = [0.01, 0.5, 0.99].map((share) => {
  const error = quantile(late, share) - DELAY_MS
  return `p${share * 100}: a plain call ${quantile(plain, share).toFixed(2)} ms, a delayed one less its delay ${error.toFixed(2)} ms`
})
process.stdout.write(
  `${late.length} delays of ${DELAY_MS} ms beside ${plain.length} plain calls\n${rows.join('\n')}\n`,
)
