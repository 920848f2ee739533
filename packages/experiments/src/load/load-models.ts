import type { Clock } from './clock.ts'
import type { LoadClient } from './clients/load-client.ts'
import type { TaskRecorder } from './results/task-recorder.ts'
import type { CallPlan } from './call-plan.ts'
import { type CallContext, CallRunner, type CallTimes } from './call-runner.ts'
import type { LoadPace, LoadWork } from './load-options.ts'
import type { CallEnd } from './results/tool-recorder.ts'

/** Bounds the tasks of a run. */
type Pacing = Pick<LoadPace, 'rampMs' | 'durationMs' | 'tasks'>

export interface LoadModel extends Pacing {
  readonly clients: readonly LoadClient[]
  readonly callsPerTask: number
  readonly stop: AbortSignal
  readonly clock: Clock
}

/**
 * Starts tasks when they are due, independently of earlier tasks. After a stall all due tasks start
 * at once, and each is measured from its due time.
 */
export async function runOpenModel(
  model: LoadModel & ArrivalPlan & { readonly maxInFlight: number },
  runTask: RunTask,
  recorder: TaskRecorder,
): Promise<void> {
  const { clients, callsPerTask, maxInFlight, stop, clock } = model
  const { durationMs = 0, tasks = Infinity } = model
  const startedAt = clock.now()
  const total = arrivalCount(model)
  const running = new Set<Promise<unknown>>()
  // Sequential tasks count with all the calls that they may still send.
  let inFlight = 0
  for (let task = 0; task < total && !stop.aborted; task++) {
    const dueAt = startedAt + arrivalTime(task, model)
    const wait = dueAt - clock.now()
    if (wait > 0) await clock.sleep(wait, stop)
    if (stop.aborted) break
    if (inFlight + callsPerTask > Math.max(maxInFlight, callsPerTask)) {
      recorder.dropped(callsPerTask)
      // Lets responses arrive between starts, or all due tasks would be dropped at once.
      await clock.turn()
      continue
    }
    const now = clock.now()
    recorder.arrived(callsPerTask, now - dueAt)
    inFlight += callsPerTask
    // A timer may fire up to a millisecond early, by which the calls would look faster.
    const intendedAt = Math.min(dueAt, now)
    const done = runTask(clients[task % clients.length]!, task, intendedAt).finally(() => {
      inFlight -= callsPerTask
      running.delete(done)
    })
    running.add(done)
  }
  // Holds the load for all of its duration, which its rate is a share of.
  const rest = total < tasks ? startedAt + durationMs - clock.now() : 0
  if (rest > 0) await clock.sleep(rest, stop)
  await Promise.all(running)
}

/** The rate of arrivals, which grows linearly from 0 over the ramp. */
interface ArrivalPlan extends Pacing {
  readonly tasksPerSecond: number
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

/** The pause of a client after a task of which the circuit breaker or a deadline held all calls. */
const IDLE_MS = 10

/** Runs tasks in a loop on each client; the clients begin evenly spaced over the ramp. */
export async function runClosedModel(
  model: LoadModel,
  runTask: RunTask,
  recorder: TaskRecorder,
): Promise<void> {
  const { clients, callsPerTask, rampMs, stop, clock } = model
  const { durationMs = Infinity, tasks = Infinity } = model
  const endsAt = clock.now() + durationMs
  let next = 0
  const work = async (client: LoadClient, index: number): Promise<void> => {
    const begin = (rampMs * index) / clients.length
    if (begin > 0) await clock.sleep(begin, stop)
    while (!stop.aborted && next < tasks && clock.now() < endsAt) {
      recorder.arrived(callsPerTask, 0)
      const hasSent = await runTask(client, next++, clock.now())
      // Without a pause, tasks that send nothing would keep responses and signals from arriving.
      if (!hasSent) await clock.sleep(IDLE_MS, stop)
    }
  }
  await Promise.all(clients.map(work))
}

/** Runs the calls of one task, concurrently or in sequence; returns false when none was sent. */
export type RunTask = (client: LoadClient, task: number, intendedAt: number) => Promise<boolean>

/** Returns the names by which the calls of a task show that they belong together. */
export type TaskNames = (task: number) => Pick<CallTimes, 'task' | 'trace'>

/** Returns the function that runs a task. */
export function taskRunner(
  plan: CallPlan,
  context: CallContext,
  { sequential }: LoadWork,
  namesOf: TaskNames,
): RunTask {
  const { clock, recorder, resilience } = context
  const { degrade, deadlineMs = Infinity } = resilience
  const runner = new CallRunner(context)
  return async (client, task, intendedAt) => {
    const calls = plan(task)
    const requests = { calls: 0, retries: 0 }
    const times = { ...namesOf(task), intendedAt, deadlineAt: intendedAt + deadlineMs, requests }
    let ends: CallEnd[] = []
    if (sequential) {
      for (const call of calls) {
        // The first call is due with the task, a later call when the previous call has ended.
        const due = ends.length === 0 ? intendedAt : clock.now()
        ends.push(await runner.run(client, call, { ...times, intendedAt: due }))
      }
    } else {
      ends = await Promise.all(calls.map((call) => runner.run(client, call, times)))
    }
    recorder.tasks.ended(ends, degrade, requests)
    return requests.calls > 0
  }
}
