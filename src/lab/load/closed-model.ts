import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadClient } from './clients/load-client.ts'
import type { Recorder } from './results/recorder.ts'
import type { RunTask } from './task-runner.ts'

export interface ClosedModel {
  readonly clients: readonly LoadClient[]
  readonly callsPerTask: number
  /** The time over which the clients begin, evenly spaced. */
  readonly rampMs: number
  readonly durationMs: number | undefined
  readonly tasks: number | undefined
  readonly stop: AbortSignal
}

/** Runs tasks in a loop on each client. */
export async function runClosedModel(
  { clients, callsPerTask, rampMs, durationMs = Infinity, tasks = Infinity, stop }: ClosedModel,
  runTask: RunTask,
  recorder: Recorder,
): Promise<void> {
  const endsAt = performance.now() + durationMs
  let next = 0
  const work = async (client: LoadClient, index: number): Promise<void> => {
    const begin = (rampMs * index) / clients.length
    if (begin > 0) await sleep(begin, undefined, { signal: stop }).catch(() => {})
    while (!stop.aborted && next < tasks && performance.now() < endsAt) {
      recorder.arrived(callsPerTask, 0)
      await runTask(client, next++, performance.now())
    }
  }
  await Promise.all(clients.map(work))
}
