import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLoop } from '../lib/open-loop.mjs'
import { memoryMiB } from '../lib/proc.mjs'
import { median } from '../lib/stats.mjs'
import { figure, table } from '../lib/table.mjs'
import { startUpstreamWithFaults } from './faults.mjs'

/** Calls per second, over all faults. */
const RATE = 500
const SAMPLE_MS = 1000
/** Parts of the run whose medians are compared. */
const PARTS = 5
/** The most that the last part may be above the second, in MiB: the first one warms up. */
const MOST_GROWTH = 5

/**
 * Measures the memory of Squall under mixed faults over minutes.
 * @returns {import('./index.mjs').Section}
 */
export function faultsMemory() {
  return {
    name: 'faults-memory',
    title: 'Memory under faults',
    peers: ['squall'],
    rounds: 1,
    seconds: 300,
    run: async (session, { seconds }) => {
      const { exchanges, port, pid, stop, directory } = await startUpstreamWithFaults(session)
      try {
        const faulted = [...exchanges].filter(([name]) => name !== 'untouched')
        const rate = RATE / faulted.length
        const loads = Promise.all(
          faulted.map(([, exchange]) => openLoop({ port, rate, seconds, exchange })),
        )
        const samples = []
        const until = performance.now() + seconds * 1000
        while (performance.now() < until) {
          await sleep(SAMPLE_MS)
          samples.push(memoryMiB(pid).now)
        }
        const results = await loads
        const calls = results.reduce((sum, each) => sum + each.calls, 0)
        const errors = results.reduce((sum, each) => sum + each.errors, 0)
        const size = Math.ceil(samples.length / PARTS)
        const parts = Array.from({ length: PARTS }, (_, n) =>
          median(samples.slice(n * size, (n + 1) * size)),
        )
        const growth = (parts.at(-1) ?? 0) - (parts[1] ?? 0)
        // A machine that is too busy for this rate says nothing about it.
        const judged = growth <= MOST_GROWTH ? 'met' : `above +${MOST_GROWTH} MiB`
        const verdict = errors > 0 ? `not judged: ${errors} calls failed` : judged
        const names = faulted.map(([name]) => name).join(', ')
        return {
          rows: [{ name: 'squall', calls, parts, growth }],
          about: `Median RSS in each fifth of ${seconds} s with ${RATE} faulted calls a second (${names}), ${calls} calls in all.`,
          tables: [
            table(
              ['', ...parts.map((_, n) => `fifth ${n + 1}`), 'growth from the second', ''],
              [['RSS in MiB', ...parts.map((part) => figure(part, 1)), figure(growth, 1), verdict]],
            ),
          ],
        }
      } finally {
        await stop()
        rmSync(directory, { recursive: true, force: true })
      }
    },
  }
}
