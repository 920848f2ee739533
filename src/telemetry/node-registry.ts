import Counter from 'prom-client/lib/counter.js'
import eventLoopLag from 'prom-client/lib/metrics/eventLoopLag.js'
import heapSizeAndUsed from 'prom-client/lib/metrics/heapSizeAndUsed.js'
import heapSpacesSizeAndUsed from 'prom-client/lib/metrics/heapSpacesSizeAndUsed.js'
import osMemoryHeap from 'prom-client/lib/metrics/osMemoryHeap.js'
import processMaxFileDescriptors from 'prom-client/lib/metrics/processMaxFileDescriptors.js'
import processStartTime from 'prom-client/lib/metrics/processStartTime.js'
import nodeVersion from 'prom-client/lib/metrics/version.js'
import Registry from 'prom-client/lib/registry.js'
import { gcDurations } from './gc-durations.ts'

const MICROS = 1e6

/**
 * Registers the default metrics of prom-client, in its order, without those that list every open file or
 * socket at each scrape: with thousands of open files that blocks traffic for milliseconds. Each metric is
 * imported from its own file: the whole package loads four times as much, most of it a tracing API that its
 * metrics of CPU time need. Those metrics are therefore made here, as is the one of garbage collections.
 */
export function createNodeRegistry(): Registry {
  const registry = new Registry()
  cpuTimes(registry)
  processStartTime(registry)
  osMemoryHeap(registry)
  processMaxFileDescriptors(registry)
  eventLoopLag(registry)
  heapSizeAndUsed(registry)
  heapSpacesSizeAndUsed(registry)
  nodeVersion(registry)
  gcDurations(registry)
  return registry
}

/** Counts CPU time from this call on, as prom-client does. */
function cpuTimes(registry: Registry): void {
  let last = process.cpuUsage()
  const counter = (name: string, help: string, collect?: () => void): Counter =>
    new Counter({ name, help, registers: [registry], ...(collect && { collect }) })
  const user = counter(
    'process_cpu_user_seconds_total',
    'Total user CPU time spent in seconds.',
    // The first of them to be asked counts for all three.
    () => {
      const now = process.cpuUsage()
      const seconds = (of: 'user' | 'system'): number => (now[of] - last[of]) / MICROS
      user.inc(seconds('user'))
      system.inc(seconds('system'))
      both.inc(seconds('user') + seconds('system'))
      last = now
    },
  )
  const system = counter(
    'process_cpu_system_seconds_total',
    'Total system CPU time spent in seconds.',
  )
  const both = counter(
    'process_cpu_seconds_total',
    'Total user and system CPU time spent in seconds.',
  )
}
