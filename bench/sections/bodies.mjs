import { loadGenerator } from '../lib/load.mjs'
import { cpuRatio, middle } from '../lib/report.mjs'
import { SHAPE_NAMES, SIZES } from '../lib/shapes.mjs'
import { figure, table } from '../lib/table.mjs'
import { workload } from '../lib/workloads.mjs'
import { inRounds } from './in-rounds.mjs'

/** Text of a log in every size, and every shape in one size. `BENCH_BODIES` names others. */
const NAMES = process.env['BENCH_BODIES']?.split(',') ?? [
  ...['json', 'event', 'request'].flatMap((kind) => SIZES.map((kib) => `${kind}-log-${kib}`)),
  'bare-log-64',
  ...['json', 'event', 'request'].flatMap((kind) =>
    SHAPE_NAMES.filter((shape) => shape !== 'log').map((shape) => `${kind}-${shape}-64`),
  ),
]

/** The CPU of a body may be this many times that of Envoy; other bodies may take three times. */
const MOST = /** @type {Record<string, number>} */ ({
  'json-log-1': 0.7,
  'json-log-4': 0.7,
  'json-log-16': 0.9,
  'json-log-64': 1.5,
  'event-log-64': 2,
  'json-log-256': 2,
})
const MOST_OF_OTHERS = 3

/** @param {readonly any[]} rows @param {string} name */
const rowOf = (rows, name) => rows.find((row) => row.name === name)

/**
 * Measures the CPU time of the proxy for bodies of the shapes and sizes that tools return.
 * @param {readonly string[]} peers
 * @returns {import('./index.mjs').Section}
 */
export function bodies(peers) {
  return {
    name: 'bodies',
    title: 'Bodies of typical tool results',
    peers,
    rounds: 3,
    seconds: 1,
    run: async (session, plan) => {
      const { name: generator, run } = loadGenerator()
      const { directory } = session
      /** @type {{ name: string, rows: readonly any[] }[]} */
      const all = []
      for (const name of NAMES) {
        const work = workload(name)
        const connections = plan.connections ?? work.connections
        session.say(`${name}:`)
        const { rows } = await inRounds(session, plan, work, (port, seconds) =>
          run({ port, workload: work, connections, seconds, directory }),
        )
        all.push({ name, rows })
      }
      return {
        rows: all,
        about: `CPU µs of the proxy for a call: text of a log in each size in KiB, and each shape in 64 KiB, as JSON, as one event, as arguments, and (bare) as JSON without isError. ${plan.rounds} interleaved rounds of ${plan.seconds} s; medians. Load: ${generator}.`,
        tables: [bodiesTable(all, plan.peers)],
      }
    },
  }
}

/** @param {readonly { name: string, rows: readonly any[] }[]} all @param {readonly { name: string }[]} peers */
function bodiesTable(all, peers) {
  const names = peers
    .map(({ name }) => name)
    .filter((name) => all.some(({ rows }) => rowOf(rows, name)))
  const others = names.filter((name) => name !== 'squall')
  const cells = all.map(({ name, rows }) => {
    const squall = rowOf(rows, 'squall')
    const micros = names.map((peer) =>
      figure(
        middle(rowOf(rows, peer)?.samples ?? [], (sample) => sample.cpuPerCall),
        0,
      ),
    )
    const ratios = others.map((peer) => {
      const other = rowOf(rows, peer)
      return squall && other ? cpuRatio(squall, other).toFixed(2) : '–'
    })
    return [name, ...micros, ...ratios, ...verdictOf(name, squall, rowOf(rows, 'envoy'))]
  })
  const verdicts = others.includes('envoy') ? ['target ÷ envoy', ''] : []
  return table(['body', ...names, ...others.map((name) => `÷ ${name}`), ...verdicts], cells)
}

/** Returns the target relative to Envoy, and whether it is met. @param {string} name @param {any} squall @param {any} envoy */
function verdictOf(name, squall, envoy) {
  if (envoy === undefined) return []
  const most = MOST[name] ?? MOST_OF_OTHERS
  const met = squall !== undefined && cpuRatio(squall, envoy) <= most + 0.005
  return [`≤ ${most}`, met ? 'met' : '**missed**']
}
