import type { CallPlan } from './call-plan.ts'
import type { CallOutcome, CallRunner, NoOutcome } from './call-runner.ts'
import type { LoadResilience, LoadWork } from './load-options.ts'
import type { LoadClient } from './clients/load-client.ts'
import type { Recorder } from './results/recorder.ts'

/** Runs the calls of one task, concurrently or in sequence. */
export type RunTask = (client: LoadClient, task: number, intendedAt: number) => Promise<void>

export function taskRunner(
  plan: CallPlan,
  runner: CallRunner,
  recorder: Recorder,
  { sequential }: LoadWork,
  { degrade, deadlineMs = Infinity }: LoadResilience,
): RunTask {
  return async (client, task, intendedAt) => {
    const calls = plan(task)
    const deadlineAt = intendedAt + deadlineMs
    const ends: (CallOutcome | NoOutcome)[] = []
    if (sequential) {
      for (const call of calls) {
        // The first call is due with the task, a later call when the previous call has ended.
        const due = ends.length === 0 ? intendedAt : performance.now()
        ends.push(await runner.run(client, call, { intendedAt: due, deadlineAt }))
      }
    } else {
      const times = { intendedAt, deadlineAt }
      ends.push(...(await Promise.all(calls.map((call) => runner.run(client, call, times)))))
    }
    if (ends.includes('abandoned')) return
    const outcomes = ends.map((end, i) => ({
      critical: i < calls.length - degrade,
      outcome: typeof end === 'string' ? undefined : end,
    }))
    recorder.task(outcomes)
  }
}
