import { cpus } from 'node:os'
import { median, medianRatio } from './stats.mjs'

/** @typedef {import('./rounds.mjs').Measured} Measured */

/** One line on where this was measured. @param {string} generator @param {string} upstream */
export function machineLine(generator, upstream) {
  const [first] = cpus()
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), Node ${process.version}, load: ${generator}, upstream: ${upstream}`
}

/** @param {readonly Measured[]} results */
export function figuresTable(results) {
  const rows = results.map(({ name, samples, rssPeak, rssAfter }) => {
    const cpu = cpuOf(samples)
    return [
      name,
      cpu.length > 0 ? median(cpu).toFixed(1) : '–',
      cpu.length > 0 ? `${Math.min(...cpu).toFixed(1)}–${Math.max(...cpu).toFixed(1)}` : '–',
      rate(median(samples.map((s) => s.callsPerSecond))),
      median(samples.map((s) => s.p50Ms)).toFixed(2),
      median(samples.map((s) => s.p99Ms)).toFixed(2),
      rssPeak?.toFixed(0) ?? '–',
      rssAfter?.toFixed(0) ?? '–',
      String(samples.reduce((sum, s) => sum + s.errors, 0)),
    ]
  })
  const head = ['peer', 'CPU µs/call', 'range', 'calls/s', 'p50 ms', 'p99 ms']
  return table([...head, 'RSS peak MiB', 'RSS after MiB', 'errors'], rows)
}

/** Peers that the others are held against, when they took part. */
const REFERENCES = ['undici-baseline', 'http-proxy']

/** @param {readonly Measured[]} results */
export function ratioTable(results) {
  const references = REFERENCES.flatMap((name) => results.find((r) => r.name === name) ?? [])
  if (references.length === 0) return ''
  const proxies = results.filter((r) => cpuOf(r.samples).length > 0)
  const head = references.flatMap(({ name }) => [`CPU ÷ ${name}`, `calls/s ÷ ${name}`])
  const rows = proxies.map((result) => [
    result.name,
    ...references.flatMap((reference) => [
      cpuRatio(result, reference).toFixed(2),
      medianRatio(
        result.samples.map((s) => s.callsPerSecond),
        reference.samples.map((s) => s.callsPerSecond),
      ).toFixed(2),
    ]),
  ])
  return table(['peer', ...head], rows)
}

/** @param {Measured} result @param {Measured} reference */
export function cpuRatio(result, reference) {
  return medianRatio(cpuOf(result.samples), cpuOf(reference.samples))
}

/** @param {readonly import('./rounds.mjs').Sample[]} samples */
function cpuOf(samples) {
  return samples.flatMap((s) => s.cpuPerCall ?? [])
}

/** @param {number} value */
function rate(value) {
  return value < 1000 ? value.toFixed(1) : String(Math.round(value))
}

/** A Markdown table with its columns aligned, so that it reads well in a terminal too. */
/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
function table(head, rows) {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((r) => r[i]?.length ?? 0)))
  /** @param {readonly string[]} cells */
  const line = (cells) =>
    `| ${cells.map((c, i) => (i === 0 ? c.padEnd(widths[i] ?? 0) : c.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = widths.map((w, i) => (i === 0 ? '-'.repeat(w) : `${'-'.repeat(w - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
