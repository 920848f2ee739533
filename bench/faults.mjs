// CPU per call under faults against an untouched call, in one run. Needs a build and wrk:
// node bench/faults.mjs [rounds]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { post } from './lib/check.mjs'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { loadGenerator } from './lib/load.mjs'
import { cpuMeter } from './lib/proc.mjs'
import { startPeer } from './lib/running-peer.mjs'
import { workload } from './lib/workloads.mjs'
import { squall } from './peers/squall.mjs'
import { startUpstream } from './upstream/index.mjs'

const ROUNDS = Number(process.argv[2] ?? 5)
const SECONDS = 1
/** Each fault with the ratio to an untouched call that it may cost, and a sign of it in the response. */
const FAULTS = [
  ['untouched', '', 1, 'yyy'],
  ['abort', 'abort: { rpcError: { code: -1, message: lost } }', 1.3, 'lost'],
  ['delay', 'delay: { fixed: 1ms }', 1.6, 'yyy'],
  ['rewrite', 'rewrite: { in: message, set: { /result/content/0/text: no } }', 3, 'no'],
  ['truncate', 'truncate: { content: { chars: 3 } }', 3, 'yyy'],
]

endChildrenWithThisProcess()
// Without a line for each injected fault.
process.env['SQUALL_LOG_LEVEL'] = 'warn'
const directory = mkdtempSync(join(tmpdir(), 'squall-faults-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const rulesFile = join(directory, 'rules.yaml')
const others = Array.from(
  { length: 20 },
  (_, n) => `  - { name: other-${n}, match: { tool: "other_${n}_*" }, faults: [hang] }\n`,
)
const rules = FAULTS.slice(1).map(
  ([name, fault]) =>
    `  - { name: ${name}, match: { tool: ${name} }, marker: false, faults: [${fault}] }\n`,
)
writeFileSync(rulesFile, `rules:\n${others.join('')}${rules.join('')}`)

const small = workload('small')
const upstream = await startUpstream(small, directory)
const squallMain = resolve(import.meta.dirname, '../dist/cli/main.js')
const running = await startPeer(squall, upstream.port, { directory, squallMain, rulesFile })
const call = JSON.parse(small.request)
/** @param {string} name */
const requestOf = (name) => JSON.stringify({ ...call, params: { ...call.params, name } })

const agent = new Agent({ keepAlive: true })
for (const [name, , , sign] of FAULTS) {
  const { body } = await post(running.port, agent, requestOf(name))
  if (!body.includes(sign)) throw new Error(`${name}: the response is ${body}`)
}
agent.destroy()

const { run } = loadGenerator()
/** @type {Map<string, number[]>} */
const measured = new Map(FAULTS.map(([name]) => [name, []]))
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name] of FAULTS) {
    const load = { port: running.port, connections: 32, seconds: SECONDS, directory }
    const read = cpuMeter(running.child.pid)
    const { calls, errors } = await run({
      ...load,
      workload: { ...small, request: requestOf(name) },
    })
    if (errors > 0) throw new Error(`${name}: ${errors} errors`)
    // The first round warms up.
    if (round > 0) measured.get(name).push(read() / calls)
  }
}
/** @param {readonly number[]} list */
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
const base = median(measured.get('untouched'))
for (const [name, , target] of FAULTS) {
  const micros = median(measured.get(name))
  const ratio = micros / base
  const verdict = ratio <= target + 0.005 ? 'met' : `above ${target}`
  console.log(`${name.padEnd(10)} ${micros.toFixed(1)} µs  ${ratio.toFixed(2)} ×  ${verdict}`)
}
await running.child.stop()
await upstream.child.stop()
process.exit()
