// The targets of the project. Only `--check` makes a missed target an error.
import { added, cpuRatio, middle, speedRatio } from './lib/report.mjs'
import { median, quantile } from './lib/stats.mjs'
import { figure, table } from './lib/table.mjs'

/** The rows of a section by the names of their peers. @typedef {Map<string, any>} Rows */

/**
 * @typedef {object} Target
 * @property {string} what
 * @property {string} section
 * @property {number} bar
 * @property {string} unit
 * @property {true} [atLeast]           the bar is the least, not the most
 * @property {readonly string[]} peers  those that it takes, in the order in which `measured` gets them
 * @property {(...rows: any[]) => number} measured
 */

/** @param {import('./lib/rounds.mjs').Measured} row */
function growthMiB({ samples }) {
  return (samples.at(-1)?.rss ?? Number.NaN) - (samples[0]?.rss ?? Number.NaN)
}

/** @type {readonly Target[]} */
export const TARGETS = [
  {
    what: 'CPU per untouched call, relative to Envoy',
    section: 'small',
    peers: ['squall', 'envoy'],
    bar: 0.5,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'CPU per untouched call, relative to piped Node sockets',
    section: 'small',
    peers: ['squall', 'socket-pipe'],
    bar: 1.6,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'CPU of the standard path, relative to `node:http` and `undici.dispatch`',
    section: 'small',
    peers: ['squall-general', 'undici-baseline'],
    bar: 1.15,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'CPU of event streams, relative to `node:http` and `undici.dispatch`',
    section: 'sse100',
    peers: ['squall', 'undici-baseline'],
    bar: 1.15,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'CPU per call with 1,000 rules, relative to one rule',
    section: 'rules',
    peers: ['squall-1000-rules', 'squall-1-rule'],
    bar: 1.05,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'CPU per call with 20 rules, relative to no rules',
    section: 'rules',
    peers: ['squall-20-rules', 'squall-0-rules'],
    bar: 1.05,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'CPU per call with metrics, relative to no metrics',
    section: 'metrics',
    peers: ['squall-metrics-on', 'squall-metrics-off'],
    bar: 1.05,
    unit: '×',
    measured: cpuRatio,
  },
  {
    what: 'added latency at half load, p99',
    section: 'half-load',
    peers: ['squall', 'direct'],
    bar: 0.3,
    unit: 'ms',
    measured: (squall, direct) => added(squall, direct, 'p99Ms'),
  },
  {
    what: 'lateness of an injected delay under load, p99',
    section: 'delayed5',
    peers: ['squall-delayed5'],
    bar: 2,
    unit: 'ms',
    measured: ({ samples }) => middle(samples, (s) => s.late?.p99Ms),
  },
  {
    what: 'throughput of a 10 MiB response, relative to piped Node sockets',
    section: 'stream10m',
    peers: ['squall', 'socket-pipe'],
    bar: 0.8,
    unit: '×',
    atLeast: true,
    measured: speedRatio,
  },
  {
    what: 'memory growth over all rounds of 10 MiB responses',
    section: 'stream10m',
    peers: ['squall'],
    bar: 10,
    unit: 'MiB',
    measured: growthMiB,
  },
  {
    what: 'idle memory',
    section: 'start',
    peers: ['squall'],
    bar: 80,
    unit: 'MB',
    measured: ({ idleMiB }) => (idleMiB * 1024 * 1024) / 1e6,
  },
  {
    what: 'memory per open SSE stream',
    section: 'held2000',
    peers: ['squall'],
    bar: 12,
    unit: 'KiB',
    measured: ({ kibEach }) => kibEach,
  },
  {
    what: 'memory per idle keep-alive connection',
    section: 'idle',
    peers: ['squall'],
    bar: 6,
    unit: 'KiB',
    // The figure is meaningless if some connections were closed meanwhile.
    measured: ({ kibEach, closed }) => (closed > 0 ? Number.NaN : kibEach),
  },
  {
    what: 'memory after a million calls',
    section: 'million',
    peers: ['squall'],
    bar: 75,
    unit: 'MiB',
    measured: ({ after }) => after,
  },
  {
    what: 'time from start to the first response',
    section: 'start',
    peers: ['squall'],
    bar: 250,
    unit: 'ms',
    measured: ({ startsMs }) => median(startsMs),
  },
  {
    what: 'time from a change of the rules file until active, p99',
    section: 'reload',
    peers: ['squall'],
    bar: 50,
    unit: 'ms',
    // Edits that made a call fail do not meet the target, however fast.
    measured: ({ tookMs, errors }) => (errors > 0 ? Number.NaN : quantile(tookMs, 0.99)),
  },
]

/**
 * A target, the measured value, and whether it meets the target.
 * @typedef {object} Verdict
 * @property {string} what
 * @property {string} target
 * @property {string} measured
 * @property {number} value
 * @property {boolean} met
 */

/**
 * Compares the measurements of a section with its targets; skips targets whose peers did not take part.
 * @param {string} section
 * @param {readonly { name: string }[]} rows
 * @returns {Verdict[]}
 */
export function judged(section, rows) {
  return TARGETS.filter((target) => target.section === section).flatMap((target) => {
    const own = target.peers.map((name) => rows.find((row) => row.name === name))
    return own.includes(undefined) ? [] : [verdict(target, target.measured(...own))]
  })
}

/** @param {Target} target @param {number} value @returns {Verdict} */
export function verdict({ what, bar, unit, atLeast }, value) {
  const decimals = unit === '×' || (unit === 'ms' && bar < 10) ? 2 : 1
  return {
    what,
    target: `${atLeast ? '≥' : '≤'} ${bar} ${unit}`,
    measured: Number.isNaN(value) ? 'nothing' : `${figure(value, decimals)} ${unit}`,
    value,
    // A missing measurement never meets a target.
    met: atLeast ? value >= bar : value <= bar,
  }
}

/** @param {Verdict} v */
export function verdictLine({ what, target, measured, met }) {
  return `${met ? 'met' : 'MISSED'}: ${what}: ${measured} (target ${target})`
}

/** All verdicts as a table; empty when there are none. @param {readonly Verdict[]} verdicts */
export function verdictTable(verdicts) {
  if (verdicts.length === 0) return ''
  const cells = verdicts.map((v) => [v.what, v.target, v.measured, v.met ? 'met' : '**missed**'])
  return table(['what', 'target', 'measured', ''], cells)
}
