/** The key of all calls together. */
export const ALL = '*'

const MAX_POINTS = 300
const ORIGINS = ['upstream', 'injected', 'squall']

/** Keeps the last minutes of each tool, made from counts that only grow. */
export class History {
  #times = []
  #series = new Map()
  #before

  /** @param {import('../api.ts').LiveEvent} event */
  add({ at, tools, latency }) {
    const time = Date.parse(at) / 1000
    const now = { time, counts: new Map(tools.map((tool) => [key(tool), tool])) }
    now.counts.set(ALL, total(tools, latency))
    const before = this.#before
    this.#before = now
    if (before === undefined) return
    if (isAnotherProcess(before, now)) {
      this.#times = []
      this.#series = new Map()
      return
    }
    const elapsed = Math.max(time - before.time, 0.1)
    this.#times.push(time)
    for (const [name, tool] of now.counts) {
      const points = this.#series.get(name) ?? []
      this.#series.set(name, points)
      points.push(point(before.counts.get(name), tool, elapsed))
    }
    if (this.#times.length <= MAX_POINTS) return
    this.#times.shift()
    for (const points of this.#series.values()) {
      if (points.length > this.#times.length) points.shift()
    }
  }

  /** Returns the times and the named columns of one tool, as charts take them. */
  of(name, columns) {
    const points = this.#series.get(name) ?? []
    const missing = this.#times.length - points.length
    return [
      this.#times,
      ...columns.map((column) =>
        this.#times.map((_, i) => (i < missing ? null : points[i - missing][column])),
      ),
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

/** @param {readonly import('../api.ts').Tool[]} tools */
function total(tools, latency) {
  const sum = (part, origin) => tools.reduce((all, tool) => all + tool[part][origin], 0)
  const sums = (part) => Object.fromEntries(ORIGINS.map((origin) => [origin, sum(part, origin)]))
  return { calls: sums('calls'), errors: sums('errors'), ...latency }
}

/**
 * @param {import('../api.ts').Tool} before
 * @param {import('../api.ts').Tool} tool
 */
function point(before, { calls, errors, client, upstream }, elapsed) {
  const perSecond = (now, then) => Math.max(0, now - (then ?? 0)) / elapsed
  const all = (counts) => ORIGINS.reduce((sum, origin) => sum + counts[origin], 0)
  return {
    real: perSecond(errors.upstream, before?.errors.upstream),
    injected: perSecond(errors.injected, before?.errors.injected),
    squall: perSecond(errors.squall, before?.errors.squall),
    calls: perSecond(all(calls), before === undefined ? 0 : all(before.calls)),
    p50: client?.p50 ?? null,
    p95: client?.p95 ?? null,
    app50: upstream?.p50 ?? null,
    app95: upstream?.p95 ?? null,
  }
}

/** Counts never fall during a process. */
function isAnotherProcess(before, now) {
  return ORIGINS.some(
    (origin) => now.counts.get(ALL).calls[origin] < before.counts.get(ALL).calls[origin],
  )
}
