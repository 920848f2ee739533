// What faults cost, in one run: CPU per call against an untouched call, at a fixed rate and at the most that
// goes, and what calls beside faulted ones wait longer. Needs a build: node bench/faults.mjs [rounds]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { post } from './lib/check.mjs'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { loadGenerator } from './lib/load.mjs'
import { openLoop } from './lib/open-loop.mjs'
import { cpuMeter } from './lib/proc.mjs'
import { startPeer } from './lib/running-peer.mjs'
import { median } from './lib/stats.mjs'
import { workload } from './lib/workloads.mjs'
import { squall } from './peers/squall.mjs'
import { startUpstream } from './upstream/index.mjs'

const ROUNDS = Number(process.argv[2] ?? 5)
const SECONDS = 1
/** Calls per second, which leave every process time to sleep. */
const RATE = 3000
/** Calls per second of the neighbours, and of the faulted calls beside them. */
const NEIGHBOURS = 300
const BESIDE = 1000
/** The most that the p99 of neighbours may rise by, in milliseconds. */
const MOST_LATER = 1
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
/** The exchange of each fault, whose responses are compared to the byte. @type {Map<string, { request: string, response: string }>} */
const exchanges = new Map()
for (const [name, , , sign] of FAULTS) {
  const request = requestOf(name)
  const { body } = await post(running.port, agent, request)
  if (!body.includes(sign)) throw new Error(`${name}: the response is ${body}`)
  exchanges.set(name, { request, response: body })
}
agent.destroy()

const { name: generator, run } = loadGenerator()
const { port } = running
/** @type {Record<string, (name: string) => Promise<{ calls: number, errors: number }>>} */
const LOADS = {
  [`${RATE} calls a second`]: (name) =>
    openLoop({ port, rate: RATE, seconds: SECONDS, exchange: exchanges.get(name) }),
  [`as many calls as ${generator} gets through 32 connections`]: (name) => {
    const ofFault = { ...small, request: requestOf(name) }
    return run({ port, connections: 32, seconds: SECONDS, directory, workload: ofFault })
  },
}
for (const [load, send] of Object.entries(LOADS)) {
  /** @type {Map<string, number[]>} */
  const measured = new Map(FAULTS.map(([name]) => [name, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name] of FAULTS) {
      const read = cpuMeter(running.child.pid)
      const { calls, errors } = await send(name)
      if (errors > 0) throw new Error(`${name}: ${errors} errors`)
      // The first round warms up.
      if (round > 0) measured.get(name).push(read() / calls)
    }
  }
  console.log(`CPU per call, ${load}:`)
  const base = median(measured.get('untouched'))
  for (const [name, , target] of FAULTS) {
    const micros = median(measured.get(name))
    const ratio = micros / base
    const verdict = ratio <= target + 0.005 ? 'met' : `above ${target}`
    console.log(`  ${name.padEnd(10)} ${micros.toFixed(1)} µs  ${ratio.toFixed(2)} ×  ${verdict}`)
  }
}

const untouched = { port, rate: NEIGHBOURS, seconds: 2 * SECONDS }
/** @type {Map<string, number[]>} */
const p99s = new Map([['alone', []], ...FAULTS.map(([name]) => [name, []])])
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, list] of p99s) {
    const exchange = exchanges.get(name)
    const beside = exchange && openLoop({ ...untouched, rate: BESIDE, exchange })
    const [{ p99Ms, errors }, faulted] = await Promise.all([openLoop(untouched), beside])
    if (errors + (faulted?.errors ?? 0) > 0) throw new Error(`beside ${name}: errors`)
    if (round > 0) list.push(p99Ms)
  }
}
console.log(`p99 of ${NEIGHBOURS} untouched calls a second, beside ${BESIDE} others a second:`)
const beside = median(p99s.get('untouched'))
for (const [name, list] of p99s) {
  const p99 = median(list)
  const verdict = p99 - beside <= MOST_LATER ? 'met' : `above +${MOST_LATER} ms`
  console.log(`  ${name.padEnd(10)} ${p99.toFixed(2)} ms  ${verdict}`)
}
await running.child.stop()
await upstream.child.stop()
process.exit()
