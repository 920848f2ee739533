import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import type { Registry } from 'prom-client'
import Histogram from 'prom-client/lib/histogram.js'

/** Observation stops when nobody has scraped for this long; scrape intervals are shorter. */
const UNREAD_MS = 15 * 60_000
const MS = 1000

const KINDS: ReadonlyMap<unknown, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/**
 * Registers the durations of garbage collections under prom-client's name. For each observed collection
 * Node creates objects that only a major collection frees: 5 KiB and 100 µs for each of a hundred minor
 * collections a second. So collections are observed only from the first scrape on, and while scrapes
 * continue; rates between scrapes stay complete.
 */
export function gcDurations(registry: Registry, now = (): number => performance.now()): void {
  let lastRead = 0
  let watching = false
  const seconds = new Histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
    labelNames: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
    registers: [registry],
    collect: () => {
      lastRead = now()
      if (watching) return
      watching = true
      observer.observe({ entryTypes: ['gc'] })
    },
  })
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      seconds.observe({ kind: kindOf(entry) }, entry.duration / MS)
    }
    if (now() - lastRead < UNREAD_MS) return
    watching = false
    observer.disconnect()
  })
}

function kindOf(entry: PerformanceEntry): string {
  const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: unknown } }
  return KINDS.get(detail?.kind) ?? 'other'
}
