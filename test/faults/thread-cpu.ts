import { readFileSync } from 'node:fs'
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'

/**
 * The CPU time of this thread, in milliseconds. Where only that of all threads is known, it includes
 * collectors of garbage, which on a busy machine spin while they wait for each other.
 */
function threadCpuMs(): number {
  try {
    return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1')) / 1e6
  } catch {
    return process.cpuUsage().user / 1000
  }
}

/** The longest step of some work and all of it, in milliseconds of CPU of this thread. */
export interface Steps {
  readonly most: number
  readonly total: number
}

/** Shorter steps are not looked at again. */
const LONG_MS = 20

/**
 * Measures each turn of the event loop until the work has ended, less the collections of garbage:
 * the heap of a worker holds what all its tests left.
 */
export async function stepsOf(work: Promise<unknown>): Promise<Steps> {
  const all = { ended: false }
  void work.finally(() => (all.ended = true))
  const collections: PerformanceEntry[] = []
  const keep = (entries: readonly PerformanceEntry[]): void => void collections.push(...entries)
  const observer = new PerformanceObserver((list) => keep(list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })
  const long: { readonly from: number; readonly to: number; readonly spent: number }[] = []
  let most = 0
  let total = 0
  while (!all.ended) {
    const [before, from] = [threadCpuMs(), performance.now()]
    await new Promise((resolve) => setImmediate(resolve))
    const spent = threadCpuMs() - before
    total += spent
    if (spent < LONG_MS) most = Math.max(most, spent)
    else long.push({ from, to: performance.now(), spent })
  }
  // Collections are reported after their turn.
  await new Promise((resolve) => setImmediate(resolve))
  keep(observer.takeRecords())
  observer.disconnect()
  for (const { from, to, spent } of long) {
    const within = collections.filter(({ startTime }) => startTime >= from && startTime < to)
    const collected = within.reduce((sum, { duration }) => sum + duration, 0)
    most = Math.max(most, spent - collected)
  }
  return { most, total }
}
