import { AdminError } from '#admin-api'
import type { ProcessMeasure } from '../gate.ts'
import { MonitorError } from '#protocol'

/** A process of the server: that of a container, or the server of `squall stdio`. */
export interface ServerProcess {
  readonly id: string
  /** The number of restarts so far. */
  readonly restarts: number
  /** Milliseconds since the epoch; undefined while it does not run. */
  readonly startedAt: number | undefined
}

/**
 * Returns the processes, and the time by their clock; undefined where the sidecar does not report
 * processes. Throws an `AdminError`.
 */
export type ServerProcesses = (
  signal: AbortSignal,
) => Promise<{ readonly now: number; readonly processes: readonly ServerProcess[] } | undefined>

/** Returns what reads a measure of the processes. The first reading sets the restarts to 0. */
export function processReader(
  measure: ProcessMeasure,
  read: ServerProcesses,
): (signal: AbortSignal) => Promise<number | null> {
  const before = new Map<string, number>()
  const restarts = new Map<string, number>()
  let isFirst = true
  return async (signal) => {
    const found = await read(signal).catch((error: unknown) => {
      throw error instanceof AdminError ? new MonitorError(error.message) : error
    })
    if (found === undefined) throw new MonitorError('the sidecar does not report processes')
    const { now, processes } = found
    for (const each of processes) {
      // A pod that comes later begins with no restart.
      if (!before.has(each.id)) before.set(each.id, isFirst ? each.restarts : 0)
      restarts.set(each.id, each.restarts - before.get(each.id)!)
    }
    isFirst = false
    if (measure === 'restarts') return [...restarts.values()].reduce((sum, count) => sum + count, 0)
    if (processes.length === 0) return null
    return Math.min(...processes.map(({ startedAt = now }) => Math.max(0, now - startedAt)))
  }
}
