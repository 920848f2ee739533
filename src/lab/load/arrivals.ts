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
