import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadClient } from './clients/load-client.ts'
import type { Recorder } from './results/recorder.ts'
import type { RunTask } from './task-runner.ts'

export interface OpenModel {
  readonly plan: ArrivalPlan
  readonly clients: readonly LoadClient[]
  readonly callsPerTask: number
  readonly maxInFlight: number
  readonly stop: AbortSignal
}

/**
 * Starts tasks when they are due, independently of earlier tasks. After a stall all due tasks start at
 * once, and each is measured from its due time.
 */
export async function runOpenModel(
  { plan, clients, callsPerTask, maxInFlight, stop }: OpenModel,
  runTask: RunTask,
  recorder: Recorder,
): Promise<void> {
  const startedAt = performance.now()
  const total = arrivalCount(plan)
  const running = new Set<Promise<void>>()
  // Sequential tasks count with all the calls that they may still send.
  let inFlight = 0
  for (let task = 0; task < total && !stop.aborted; task++) {
    const dueAt = startedAt + arrivalTime(task, plan)
    const wait = dueAt - performance.now()
    if (wait > 0) await sleep(wait, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) break
    if (inFlight + callsPerTask > Math.max(maxInFlight, callsPerTask)) {
      recorder.dropped(callsPerTask)
      // Lets responses arrive between starts, or all due tasks would be dropped at once.
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

export interface ArrivalPlan {
  readonly tasksPerSecond: number
  /** The time over which the rate grows linearly from 0. */
  readonly rampMs: number
  readonly durationMs: number | undefined
  readonly tasks: number | undefined
}

/** Returns the arrival of a task in milliseconds after the start; the first task is number 0. */
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
  // A task that is due exactly at the end does not arrive; 1e-6 covers rounding errors.
  return Math.min(tasks, Math.ceil(area - 1e-6))
}
