import { setTimeout as sleep } from 'node:timers/promises'
import { arrivalCount, type ArrivalPlan, arrivalTime } from './arrivals.ts'
import type { LoadClient } from './clients/load-client.ts'
import type { Recorder } from './results/recorder.ts'
import type { RunTask } from './task-runner.ts'

/** Configures the open model beside the tasks. */
export interface OpenModel {
  readonly plan: ArrivalPlan
  readonly clients: readonly LoadClient[]
  readonly callsPerTask: number
  readonly maxInFlight: number
  /** No further tasks begin when this is aborted. */
  readonly stop: AbortSignal
}

/**
 * Starts tasks when they are due, whatever becomes of the ones before. After a stall all that are
 * due start at once, and each is measured from the time at which it was due.
 */
export async function runOpenModel(
  { plan, clients, callsPerTask, maxInFlight, stop }: OpenModel,
  runTask: RunTask,
  recorder: Recorder,
): Promise<void> {
  const startedAt = performance.now()
  const total = arrivalCount(plan)
  const running = new Set<Promise<void>>()
  // Sequential tasks hold one call at a time, but what counts is what they may still send.
  let inFlight = 0
  for (let task = 0; task < total && !stop.aborted; task++) {
    const dueAt = startedAt + arrivalTime(task, plan)
    const wait = dueAt - performance.now()
    if (wait > 0) await sleep(wait, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) break
    if (inFlight + callsPerTask > Math.max(maxInFlight, callsPerTask)) {
      recorder.dropped(callsPerTask)
      // Lets answers in, or all that is due would be dropped in one go.
      await new Promise((resolve) => setImmediate(resolve))
      continue
    }
    recorder.arrived(callsPerTask, performance.now() - dueAt)
    inFlight += callsPerTask
    const done = runTask(clients[task % clients.length]!, task, dueAt).finally(() => {
      inFlight -= callsPerTask
      running.delete(done)
    })
    running.add(done)
  }
  await Promise.all(running)
}
