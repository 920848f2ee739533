import { setTimeout as sleep } from 'node:timers/promises'
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

/** The arrival rate of tasks, and its duration. */
export interface ArrivalPlan {
  readonly tasksPerSecond: number
  /** The rate grows evenly from nothing over this time. */
  readonly rampMs: number
  readonly durationMs: number | undefined
  readonly tasks: number | undefined
}

/** Milliseconds after the start at which the task with this number arrives; the first is number 0. */
export function arrivalTime(task: number, { tasksPerSecond, rampMs }: ArrivalPlan): number {
  const perMs = tasksPerSecond / 1000
  const inRamp = (perMs * rampMs) / 2
  if (task < inRamp) return Math.sqrt((2 * task * rampMs) / perMs)
  return rampMs / 2 + task / perMs
}

/** Returns the total number of tasks; Infinity without a bound. */
export function arrivalCount(plan: ArrivalPlan): number {
  const { durationMs, tasks = Infinity, tasksPerSecond, rampMs } = plan
  if (durationMs === undefined) return tasks
  const perMs = tasksPerSecond / 1000
  const area =
    durationMs <= rampMs
      ? (perMs * durationMs * durationMs) / (2 * rampMs)
      : perMs * (durationMs - rampMs / 2)
  // One that is due at the very end does not arrive any more; 1e-6 is what sums of fractions miss.
  return Math.min(tasks, Math.ceil(area - 1e-6))
}
