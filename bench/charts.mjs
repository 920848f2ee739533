import { writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { barChart, chartText } from './lib/bar-chart.mjs'
import { LATENCIES, added, middle } from './lib/report.mjs'
import { median } from './lib/stats.mjs'
import { workload } from './lib/workloads.mjs'

/**
 * Describes the picture of a section's rows.
 * @typedef {object} Sketch
 * @property {string} section
 * @property {string} file      the end of its name
 * @property {string} title
 * @property {string} about
 * @property {string} unit
 * @property {number} decimals
 * @property {readonly string[]} [series]
 * @property {{ value: number, label: string }} [mark]
 * @property {'least' | 'most'} [first]  rows are sorted by their value, not left as they come
 * @property {(row: any, rows: readonly any[]) => readonly number[]} values  none: not in the picture
 * @property {(row: any) => readonly [number, number]} [range]
 */

/** The length of the response in `stream10m`. */
const RESPONSE_MB = workload('stream10m').response.length / 1e6
const LESS = 'less is better'
const RANGE = 'the thin line reaches from the lowest round to the highest'

/** @param {import('./lib/rounds.mjs').Measured} row */
const cpuOf = ({ samples }) => {
  const cpu = middle(samples, (s) => s.cpuPerCall)
  return Number.isNaN(cpu) ? [] : [cpu]
}

/** @param {import('./lib/rounds.mjs').Measured} row @returns {[number, number]} */
const rangeOf = ({ samples }) => {
  const cpu = samples.flatMap((s) => s.cpuPerCall ?? [])
  return [Math.min(...cpu), Math.max(...cpu)]
}

const ofCpu = /** @type {const} */ ({
  unit: 'µs',
  decimals: 1,
  first: 'least',
  values: cpuOf,
  range: rangeOf,
})
const aboutCpu = `µs of CPU that the proxy spends on a call; ${LESS}; ${RANGE}`

/** @type {readonly Sketch[]} */
export const SKETCHES = [
  { section: 'small', file: 'cpu', title: 'CPU for a small call', about: aboutCpu, ...ofCpu },
  {
    section: 'rules',
    file: 'rules',
    title: 'CPU by the number of rules',
    about: aboutCpu,
    ...ofCpu,
    first: undefined,
  },
  {
    section: 'half-load',
    file: 'latency',
    title: 'Latency added at a steady rate',
    about: `ms that a call takes longer than without a proxy; ${LESS}`,
    unit: 'ms',
    decimals: 2,
    series: ['p50', 'p99', 'p99.9'],
    marker: { value: 0.3, label: 'target for p99: 0.3 ms' },
    values: (row, rows) => {
      const direct = rows.find(({ name }) => name === 'direct')
      if (direct === undefined || direct === row) return []
      return LATENCIES.map((key) => added(row, direct, key))
    },
  },
  {
    section: 'delayed5',
    file: 'delayed',
    title: 'Latency of the other calls while 5 % are delayed',
    about: `ms of a call that is not delayed; ${LESS}`,
    unit: 'ms',
    decimals: 2,
    series: ['p50', 'p99', 'p99.9'],
    values: ({ samples }) => LATENCIES.map((key) => middle(samples, (s) => s[key])),
  },
  {
    section: 'response64k',
    file: 'responses',
    title: 'CPU for a response of 64 KiB',
    about: aboutCpu,
    ...ofCpu,
  },
  {
    section: 'stream10m',
    file: 'stream',
    title: 'Responses of 10 MiB',
    about: 'MB that pass in a second; more is better',
    unit: 'MB/s',
    decimals: 0,
    first: 'most',
    values: ({ samples }) => [middle(samples, (s) => s.callsPerSecond) * RESPONSE_MB],
  },
  {
    section: 'sse100',
    file: 'events',
    title: 'CPU for a stream of 100 events',
    about: aboutCpu,
    ...ofCpu,
  },
  {
    section: 'held2000',
    file: 'held',
    title: 'Memory for an open stream',
    about: `KiB of resident memory for each open SSE stream; ${LESS}`,
    unit: 'KiB',
    decimals: 1,
    first: 'least',
    marker: { value: 12, label: 'target: 12 KiB' },
    values: ({ kibEach }) => [kibEach],
  },
  {
    section: 'idle',
    file: 'idle',
    title: 'Memory for an idle connection',
    about: `KiB of resident memory for each connection that is kept alive; ${LESS}`,
    unit: 'KiB',
    decimals: 1,
    first: 'least',
    marker: { value: 6, label: 'target: 6 KiB' },
    values: ({ kibEach }) => [kibEach],
  },
  {
    section: 'start',
    file: 'start',
    title: 'Start',
    about: `ms from the start of the process to its first response; ${LESS}`,
    unit: 'ms',
    decimals: 0,
    first: 'least',
    marker: { value: 250, label: 'target: 250 ms' },
    values: ({ startsMs }) => [median(startsMs)],
    range: ({ startsMs }) => [Math.min(...startsMs), Math.max(...startsMs)],
  },
  {
    section: 'start',
    file: 'rest',
    title: 'Memory at rest',
    about: `MiB of resident memory after the first seconds; ${LESS}`,
    unit: 'MiB',
    decimals: 0,
    first: 'least',
    values: ({ idleMiB }) => [idleMiB],
  },
]

/**
 * The pictures of a section: names, SVG, and what they say in words.
 * @param {string} section
 * @param {readonly any[]} rows
 */
export function chartsOf(section, rows) {
  return SKETCHES.filter((sketch) => sketch.section === section).flatMap((sketch) => {
    const shown = rows.flatMap((row) => {
      const values = sketch.values(row, rows)
      if (values.length === 0 || values.some((value) => Number.isNaN(value))) return []
      const range = sketch.range === undefined ? {} : { range: sketch.range(row) }
      return [{ label: row.name, ours: row.name.startsWith('squall'), values, ...range }]
    })
    if (shown.length === 0) return []
    const order = { least: 1, most: -1 }[sketch.first ?? ''] ?? 0
    shown.sort((a, b) => order * ((a.values[0] ?? 0) - (b.values[0] ?? 0)))
    const chart = { ...sketch, rows: shown }
    return [{ file: sketch.file, svg: barChart(chart), text: chartText(chart) }]
  })
}

/**
 * Writes a section's pictures beside a Markdown file; returns the lines that show them.
 * @param {string} md
 * @param {string} section
 * @param {readonly any[]} rows
 */
export function writeCharts(md, section, rows) {
  const stem = basename(md, extname(md))
  return chartsOf(section, rows).map(({ file, svg, text }) => {
    const name = `${stem}-${file}.svg`
    writeFileSync(join(dirname(md), name), svg)
    return `![${text}](${name})`
  })
}
