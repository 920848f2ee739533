import type { Baseline } from './baseline.ts'
import { BaselineRecorder } from './baseline.ts'
import { buildResult } from './results/build-result.ts'
import { planCalls } from './call-plan.ts'
import { CallRunner } from './call-runner.ts'
import { runClosedModel } from './closed-model.ts'
import { chooseTools, type Consent } from './choose-tools.ts'
import { closeClients, openClients } from './clients/client-pool.ts'
import { HeldStreamSet } from './clients/held-stream-set.ts'
import { GracefulStop, type StopSignals } from './graceful-stop.ts'
import type { Endpoint, LoadClient } from './clients/load-client.ts'
import type { LoadOptions } from './load-options.ts'
import { openEndpoint } from './clients/open-endpoint.ts'
import { runOpenModel } from './open-model.ts'
import { Recorder } from './results/recorder.ts'
import type { LoadResult } from './results/result.ts'
import { openFaults, type UnmarkedFaults } from './unmarked-faults.ts'
import { shardOf } from './shard.ts'
import { taskRunner } from './task-runner.ts'

/** Lets a caller follow and stop a run. */
export interface LoadHooks extends StopSignals {
  /** Called once, when the target has answered and the load begins. */
  readonly begun?: (run: RunningLoad) => void
  /** Asked for tools that do not say whether they only read; without it they have to be named. */
  readonly consent?: Consent
  /** Record how the results look. */
  readonly recordBaseline?: boolean
}

/** A load that goes on. */
export interface RunningLoad {
  readonly endpoint: Endpoint
  /** The tools that are called. */
  readonly called: readonly string[]
  /** Returns the remaining wait for calls in flight; undefined while further tasks begin. */
  readonly waitsMs: () => number | undefined
  /** Grows as the load goes on. */
  readonly recorder: Recorder
}

/** The results of a run. */
export interface LoadRun {
  readonly result: LoadResult
  /** The shapes of results, when they were to be recorded. */
  readonly baseline: Baseline | undefined
}

/** Runs a load to its end. Throws a `LoadError` when it cannot begin. */
export async function runLoad(options: LoadOptions, hooks: LoadHooks = {}): Promise<LoadRun> {
  const { target, checks, resilience, seed } = options
  const pace = shardOf(options.pace, options.shard)
  const ending = new GracefulStop(pace.gracefulStopMs, hooks)
  const { stop, cut } = ending
  const stream = options.shard === undefined ? '' : `shard ${options.shard.index}`
  const endpoint = await openEndpoint(target, options.version)
  let clients: LoadClient[] = []
  const held = new HeldStreamSet(pace.hold)
  let faults: UnmarkedFaults | undefined
  try {
    const { work, leftOut } = await chooseTools(options.work, endpoint.tools, hooks.consent)
    const plan = planCalls(work, endpoint.tools, checks.expectations, seed, stream)
    faults = await openFaults(target.sidecars ?? [])
    clients = await openClients(endpoint, pace.clients)
    await held.open(clients)
    const startedAt = new Date()
    const recorder = new Recorder()
    const recording = hooks.recordBaseline === true ? new BaselineRecorder() : undefined
    const { baseline } = checks
    const context = { resilience, recorder, baseline, recording, signal: cut, seed, faults }
    const runner = new CallRunner(context)
    const { degrade, deadlineMs } = resilience
    const form = { sequential: work.sequential, degrade, deadlineMs }
    const runTask = taskRunner(plan, runner, recorder, form)
    const called = [...new Set([...work.tools, ...work.calls.map(({ tool }) => tool)])]
    hooks.begun?.({ endpoint, recorder, called, waitsMs: () => ending.waitsMs() })
    const model = { clients, callsPerTask: work.fanOut, stop }
    const { durationMs, tasks, rampMs, maxInFlight, rate } = pace
    ending.begin(durationMs)
    if (rate === undefined) {
      await runClosedModel({ ...model, rampMs, durationMs, tasks }, runTask, recorder)
    } else {
      const arrivals = { tasksPerSecond: rate / work.fanOut, rampMs, durationMs, tasks }
      await runOpenModel({ ...model, plan: arrivals, maxInFlight }, runTask, recorder)
    }
    const complete = !stop.aborted
    const missedFaults = faults?.missed
    const { elapsedMs } = recorder
    const ended = { startedAt, durationMs: elapsedMs, complete, leftOut, missedFaults }
    const result = buildResult({ ...options, work }, endpoint, recorder, held.counts(), ended)
    return { result, baseline: recording?.baseline() }
  } finally {
    ending.release()
    faults?.close()
    held.close()
    await closeClients(clients)
    await endpoint.close()
  }
}
