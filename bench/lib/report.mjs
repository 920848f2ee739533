import { cpus } from 'node:os'
import { median, medianDifference, medianRatio } from './stats.mjs'
import { figure, table } from './table.mjs'

/** @typedef {import('./rounds.mjs').Measured} Measured */
/** @typedef {import('./rounds.mjs').Sample} Sample */

/** Responses as long as this are reported in MB/s too. */
const LONG_RESPONSE = 1024 * 1024

/** One line on where this was measured. */
export function machineLine() {
  const [first] = cpus()
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), Node ${process.version}`
}

/**
 * Lists the figures of each peer, as medians of its rounds.
 * @param {readonly Measured[]} rows
 * @param {number} [answerBytes]
 */
export function figuresTable(rows, responseBytes = 0) {
  const long = responseBytes >= LONG_RESPONSE
  const head = ['peer', 'CPU µs/call', 'range', long ? 'MB/s' : 'calls/s', 'p50 ms', 'p99 ms']
  const cells = rows.map(({ name, samples, rssBefore, rssPeak, rssAfter }) => {
    const cpu = cpuOf(samples)
    const speed = middle(samples, (s) => s.callsPerSecond)
    return [
      name,
      figure(
        middle(samples, (s) => s.cpuPerCall),
        1,
      ),
      cpu.length > 0 ? `${Math.min(...cpu).toFixed(1)}–${Math.max(...cpu).toFixed(1)}` : '–',
      long ? figure((speed * responseBytes) / 1e6, 0) : rate(speed),
      figure(
        middle(samples, (s) => s.p50Ms),
        2,
      ),
      figure(
        middle(samples, (s) => s.p99Ms),
        2,
      ),
      figure(
        middle(samples, (s) => s.p999Ms),
        2,
      ),
      figure(rssBefore, 0),
      figure(rssPeak, 0),
      figure(rssAfter, 0),
      errorsOf(samples),
    ]
  })
  const memory = ['RSS before MiB', 'RSS peak MiB', 'RSS after MiB']
  return table([...head, 'p99.9 ms', ...memory, 'errors'], cells)
}

/**
 * Each proxy against those references that took part; empty when none did.
 * @param {readonly Measured[]} rows
 * @param {readonly string[]} references
 * @param {boolean} [withSpeed]  calls a second against the first reference, too
 */
export function ratioTable(rows, references, withSpeed = true) {
  const known = references.flatMap((name) => rows.find((r) => r.name === name) ?? [])
  if (known.length === 0) return ''
  const proxies = rows.filter((r) => cpuOf(r.samples).length > 0)
  const raced = withSpeed ? known.slice(0, 1) : []
  const cells = proxies.map((row) => [
    row.name,
    ...known.map((reference) => cpuRatio(row, reference).toFixed(2)),
    ...raced.map((reference) => speedRatio(row, reference).toFixed(2)),
  ])
  const heads = known.map(({ name }) => `CPU ÷ ${name}`)
  return table(['peer', ...heads, ...raced.map(({ name }) => `speed ÷ ${name}`)], cells)
}

/**
 * Lists the latency that each proxy adds to direct calls, in milliseconds.
 * @param {readonly Measured[]} rows
 */
export function addedTable(rows) {
  const direct = rows.find(({ name }) => name === 'direct')
  if (direct === undefined) return ''
  const cells = rows
    .filter((row) => row !== direct)
    .map((row) => [row.name, ...LATENCIES.map((key) => figure(added(row, direct, key), 2))])
  return table(['peer', 'p50 + ms', 'p99 + ms', 'p99.9 + ms'], cells)
}

/**
 * Where a share of calls is delayed: how exactly, and what the rest of them pays.
 * @param {readonly Measured[]} rows
 */
export function lateTable(rows) {
  const head = ['peer', 'delayed', 'late p50 ms', 'late p99 ms', 'others p50 ms', 'others p99 ms']
  const cells = rows.map(({ name, samples }) => [
    name,
    `${figure(middle(samples, (s) => s.late?.share) * 100, 1)} %`,
    figure(
      middle(samples, (s) => s.late?.p50Ms),
      2,
    ),
    figure(
      middle(samples, (s) => s.late?.p99Ms),
      2,
    ),
    figure(
      middle(samples, (s) => s.p50Ms),
      2,
    ),
    figure(
      middle(samples, (s) => s.p99Ms),
      2,
    ),
    figure(
      middle(samples, (s) => s.p999Ms),
      2,
    ),
    figure(
      middle(samples, (s) => s.cpuPerCall),
      1,
    ),
    errorsOf(samples),
  ])
  return table([...head, 'others p99.9 ms', 'CPU µs/call', 'errors'], cells)
}

export const LATENCIES = /** @type {const} */ (['p50Ms', 'p99Ms', 'p999Ms'])

/** @param {Measured} row @param {Measured} direct @param {typeof LATENCIES[number]} key */
export function added(row, direct, key) {
  return medianDifference(
    row.samples.map((s) => s[key]),
    direct.samples.map((s) => s[key]),
  )
}

/** @param {Measured} row @param {Measured} reference */
export function cpuRatio(row, reference) {
  return medianRatio(cpuOf(row.samples), cpuOf(reference.samples))
}

/** @param {Measured} row @param {Measured} reference */
export function speedRatio(row, reference) {
  return medianRatio(
    row.samples.map((s) => s.callsPerSecond),
    reference.samples.map((s) => s.callsPerSecond),
  )
}

/** The middle of a figure over those rounds that have it. */
/** @param {readonly Sample[]} samples @param {(sample: Sample) => number | undefined} of */
export function middle(samples, of) {
  return median(samples.flatMap((s) => of(s) ?? []).filter((value) => !Number.isNaN(value)))
}

/** @param {readonly Sample[]} samples */
function cpuOf(samples) {
  return samples.flatMap((s) => s.cpuPerCall ?? [])
}

/** @param {readonly Sample[]} samples */
function errorsOf(samples) {
  return String(samples.reduce((sum, s) => sum + s.errors, 0))
}

/** @param {number} value */
function rate(value) {
  return value < 1000 ? figure(value, 1) : String(Math.round(value))
}
