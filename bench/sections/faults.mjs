import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { post } from '../lib/check.mjs'
import { loadGenerator } from '../lib/load.mjs'
import { openLoop } from '../lib/open-loop.mjs'
import { cpuMeter, memoryMiB } from '../lib/proc.mjs'
import { startPeer } from '../lib/running-peer.mjs'
import { median } from '../lib/stats.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { squall } from '../peers/squall.mjs'
import { startUpstream } from '../upstream/index.mjs'

/** Calls per second, which leave every process time to sleep. */
const RATE = 3000
/** Calls per second of the untouched calls, and of the concurrent faulted calls. */
const NEIGHBOURS = 300
const BESIDE = 1000
/** The most that the p99 of neighbours may rise by, in milliseconds. */
const MOST_LATER = 1
/** Rounds before the measured ones: a sidecar runs for days, and V8 compiles for seconds. */
const WARM_UP = 3
/** Each fault with the ratio to an untouched call that it may cost, and a sign of it in the response. */
const FAULTS = /** @type {const} */ ([
  ['untouched', '', 1, 'yyy'],
  ['abort', 'abort: { rpcError: { code: -1, message: lost } }', 1, 'lost'],
  ['delay', 'delay: { fixed: 1ms }', 1.5, 'yyy'],
  ['replay', 'replay: {}', 2, 'yyy'],
  ['poison', 'poison: { preset: instructions }', 2, 'squall-canary'],
  ['rewrite', 'rewrite: { in: message, set: { /result/content/0/text: no } }', 2.5, 'no'],
  ['truncate', 'truncate: { content: { chars: 3 } }', 2.5, 'yyy'],
  ['corrupt', 'corrupt: { mode: html }', 2.5, '<html'],
])

/**
 * Measures the cost of faults in one run: CPU per call against an untouched call, at a fixed rate
 * and at the highest rate, and the added latency of calls during faulted calls.
 * @returns {import('./index.mjs').Section}
 */
export function faults() {
  return {
    name: 'faults',
    title: 'Faulted calls',
    peers: ['squall'],
    rounds: 5,
    seconds: 1,
    run: async (session, { rounds, seconds }) => {
      const small = workload('small')
      const { directory, exchanges, port, pid, stop } = await startUpstreamWithFaults(session)
      try {
        const { name: generator, run } = loadGenerator()
        /** @type {Record<string, (name: string) => Promise<{ calls: number, errors: number }>>} */
        const loads = {
          [`${generator}, 32 connections`]: (name) => {
            const ofFault = { ...small, request: exchanges.get(name)?.request ?? '' }
            return run({ port, connections: 32, seconds, directory, workload: ofFault })
          },
          [`${RATE} calls/s`]: (name) =>
            openLoop({ port, rate: RATE, seconds, exchange: exchanges.get(name) }),
        }
        const before = memoryMiB(pid).now
        const rows = []
        const tables = []
        for (const [load, send] of Object.entries(loads)) {
          const micros = await measured(pid, rounds, send)
          const base = median(micros.get('untouched') ?? [])
          const cells = FAULTS.map(([name, , most]) => {
            const own = median(micros.get(name) ?? [])
            rows.push({ name, load, micros: own, ratio: own / base })
            const verdict = own / base <= most + 0.005 ? 'met' : 'missed'
            return [name, figure(own, 1), figure(own / base, 2), `≤ ${most}`, verdict]
          })
          tables.push(table(['fault', `CPU µs, ${load}`, 'ratio', 'target', ''], cells))
        }
        tables.push(await neighbours(port, rounds, 2 * seconds, exchanges))
        const after = memoryMiB(pid).now
        return {
          rows,
          about: `Median CPU of Squall for a call, ${rounds} rounds of ${seconds} s for each fault, warnings logged only. RSS was ${before.toFixed(0)} MiB before and ${after.toFixed(0)} MiB after all calls.`,
          tables,
        }
      } finally {
        await stop()
        rmSync(directory, { recursive: true, force: true })
      }
    },
  }
}

/**
 * Starts an upstream, and Squall with a rule for each fault in front of it.
 * @param {import('./index.mjs').Session} session
 */
export async function startUpstreamWithFaults(session) {
  const directory = mkdtempSync(join(session.directory, 'faults-'))
  const small = workload('small')
  const upstream = await startUpstream(small, directory)
  const running = await startFaulted(upstream.port, directory, session)
  const { port, child } = running
  const stop = async () => {
    await child?.stop()
    await upstream.child.stop()
  }
  const exchanges = await exchangesOf(port, small.request)
  return { directory, exchanges, port, pid: child?.pid ?? 0, stop }
}

/**
 * Starts Squall with a rule for each fault, and twenty others.
 * @param {number} upstreamPort
 * @param {string} directory
 * @param {import('./index.mjs').Session} session
 */
async function startFaulted(upstreamPort, directory, session) {
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
  const level = process.env['SQUALL_LOG_LEVEL']
  // Without a line for each injected fault.
  process.env['SQUALL_LOG_LEVEL'] = 'warn'
  try {
    return await startPeer(squall, upstreamPort, { ...session, directory, rulesFile })
  } finally {
    if (level === undefined) delete process.env['SQUALL_LOG_LEVEL']
    else process.env['SQUALL_LOG_LEVEL'] = level
  }
}

/**
 * Returns the exchange of each fault, whose responses are compared to the byte.
 * @param {number} port
 * @param {string} plain
 */
async function exchangesOf(port, plain) {
  const call = JSON.parse(plain)
  const agent = new Agent({ keepAlive: true })
  /** @type {Map<string, { request: string, response: string }>} */
  const exchanges = new Map()
  for (const [name, , , sign] of FAULTS) {
    const request = JSON.stringify({ ...call, params: { ...call.params, name } })
    const { body } = await post(port, agent, request)
    if (!body.includes(sign)) throw new Error(`${name}: the response is ${body}`)
    exchanges.set(name, { request, response: body })
  }
  agent.destroy()
  return exchanges
}

/**
 * Returns the CPU of a call in microseconds, for each fault and round.
 * @param {number} pid
 * @param {number} rounds
 * @param {(name: string) => Promise<{ calls: number, errors: number }>} send
 */
async function measured(pid, rounds, send) {
  /** @type {Map<string, number[]>} */
  const micros = new Map(FAULTS.map(([name]) => [name, []]))
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [name] of FAULTS) {
      const read = cpuMeter(pid)
      const { calls, errors } = await send(name)
      if (errors > 0) throw new Error(`${name}: ${errors} errors`)
      if (round >= 0) micros.get(name)?.push(read() / calls)
    }
  }
  return micros
}

/**
 * Measures the latency of untouched calls during faulted calls.
 * @param {number} port
 * @param {number} rounds
 * @param {number} seconds
 * @param {ReadonlyMap<string, { request: string, response: string }>} exchanges
 */
async function neighbours(port, rounds, seconds, exchanges) {
  const untouched = { port, rate: NEIGHBOURS, seconds }
  /** @type {Map<string, number[]>} */
  const p99s = new Map([['alone', []], ...FAULTS.map(([name]) => [name, []])])
  for (let round = 0; round <= rounds; round++) {
    for (const [name, list] of p99s) {
      const exchange = exchanges.get(name)
      const beside = exchange && openLoop({ ...untouched, rate: BESIDE, exchange })
      const [{ p99Ms, errors }, faulted] = await Promise.all([openLoop(untouched), beside])
      if (errors + (faulted?.errors ?? 0) > 0) throw new Error(`beside ${name}: errors`)
      if (round > 0) list.push(p99Ms)
    }
  }
  const base = median(p99s.get('untouched') ?? [])
  const cells = [...p99s].map(([name, list]) => {
    const p99 = median(list)
    return [name, figure(p99, 2), p99 - base <= MOST_LATER ? 'met' : `above +${MOST_LATER} ms`]
  })
  return table(
    [`concurrent load, ${BESIDE} calls/s`, `p99 ms of ${NEIGHBOURS} untouched calls/s`, ''],
    cells,
  )
}
