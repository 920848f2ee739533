/** The key of all calls together. */
export const ALL = '*'

const ORIGINS = ['real', 'injected', 'squall', 'injected_elsewhere']
const COLUMNS = ['calls', ...ORIGINS, 'p50', 'p95', 'upstreamP50', 'upstreamP95']

/**
 * Keeps the last minutes of each tool: the points that the sidecar has kept, and newer ones made
 * from counts that only grow.
 */
export class Traffic {
  #times = []
  #series = new Map()
  #before

  /**
   * Replaces all points up to the last one that the sidecar has kept.
   *
   * @param {import('../contract/api.ts').History} history
   */
  take({ at, series }) {
    const last = at.at(-1) ?? 0
    const from = this.#times.findIndex((time) => time > last)
    const newer = from < 0 ? [] : this.#times.slice(from)
    const known = this.#times.length
    const merged = new Map(
      series.map(({ tool, ...columns }) => {
        const name = tool === undefined ? ALL : key({ tool })
        return [name, at.map((_, i) => pointOf(columns, i))]
      }),
    )
    for (const [name, points] of this.#series) {
      const kept = newer.map((_, i) => points[points.length - known + from + i])
      merged.set(name, [...(merged.get(name) ?? at.map(() => undefined)), ...kept])
    }
    for (const [name, points] of merged) {
      if (!this.#series.has(name)) merged.set(name, [...points, ...newer.map(() => undefined)])
    }
    this.#times = [...at, ...newer]
    this.#series = merged
  }

  /**
   * Adds a point.
   *
   * @param {import('../contract/api.ts').LiveEvent} event
   * @returns {boolean} whether the process is the same as before
   */
  add({ at, tools, latency }) {
    const time = Date.parse(at) / 1000
    const now = { time, counts: new Map(tools.map((tool) => [key(tool), tool])) }
    now.counts.set(ALL, total(tools, latency))
    const before = this.#before
    this.#before = now
    if (before === undefined) return true
    if (isAnotherProcess(before, now)) {
      this.#times = []
      this.#series = new Map()
      return false
    }
    const elapsed = Math.max(time - before.time, 0.1)
    this.#times.push(time)
    for (const name of now.counts.keys()) {
      if (!this.#series.has(name)) this.#series.set(name, [])
    }
    for (const [name, points] of this.#series) {
      const tool = now.counts.get(name)
      points.push(tool && point(before.counts.get(name), tool, elapsed))
    }
    return true
  }

  /** Returns the times and the named columns of one tool, as charts take them. */
  of(name, columns) {
    const points = this.#series.get(name) ?? []
    const missing = this.#times.length - points.length
    return [
      this.#times,
      ...columns.map((column) => this.#times.map((_, i) => points[i - missing]?.[column] ?? null)),
    ]
  }

  /** Returns the newest point of one tool, without columns where there is none. */
  last(name) {
    return this.#series.get(name)?.at(-1) ?? {}
  }
}

/** Returns the key of a tool, which is never the key of all. */
export function key({ tool }) {
  return `=${tool}`
}

function pointOf(columns, i) {
  return Object.fromEntries(COLUMNS.map((name) => [name, columns[name][i] ?? null]))
}

/** @param {readonly import('../contract/api.ts').Tool[]} tools */
function total(tools, latency) {
  const sum = (part, origin) => tools.reduce((all, tool) => all + tool[part][origin], 0)
  const sums = (part) => Object.fromEntries(ORIGINS.map((origin) => [origin, sum(part, origin)]))
  return { calls: sums('calls'), errors: sums('errors'), ...latency }
}

/**
 * @param {import('../contract/api.ts').Tool} before
 * @param {import('../contract/api.ts').Tool} tool
 */
function point(before, { calls, errors, client, upstream }, elapsed) {
  const perSecond = (now, then) => Math.max(0, now - (then ?? 0)) / elapsed
  const all = (counts) => ORIGINS.reduce((sum, origin) => sum + counts[origin], 0)
  return {
    ...Object.fromEntries(
      ORIGINS.map((origin) => [origin, perSecond(errors[origin], before?.errors[origin])]),
    ),
    calls: perSecond(all(calls), before === undefined ? 0 : all(before.calls)),
    p50: client?.p50 ?? null,
    p95: client?.p95 ?? null,
    upstreamP50: upstream?.p50 ?? null,
    upstreamP95: upstream?.p95 ?? null,
  }
}

/** Counts never fall during a process. */
function isAnotherProcess(before, now) {
  return ORIGINS.some(
    (origin) => now.counts.get(ALL).calls[origin] < before.counts.get(ALL).calls[origin],
  )
}
