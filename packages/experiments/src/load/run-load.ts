import { randomBytes } from 'node:crypto'
import { BaselineRecorder } from './baseline.ts'
import { buildResult } from './results/build-result.ts'
import { planCalls } from './call-plan.ts'
import { REAL_TIME as clock } from './clock.ts'
import { type Consent, chooseTools } from './choose-tools.ts'
import { holdStreams } from './clients/held-stream.ts'
import { gracefulStop, type StopSignals } from './graceful-stop.ts'
import { type Endpoint, type LoadClient, TASK_HEADER } from './clients/load-client.ts'
import { type LoadOptions, type LoadPace, type LoadTarget, shardOf } from './load-options.ts'
import { openEndpoint } from './clients/open-endpoint.ts'
import {
  type LoadModel,
  runClosedModel,
  runOpenModel,
  type RunTask,
  type TaskNames,
  taskRunner,
} from './load-models.ts'
import { Recorder } from './results/recorder.ts'
import type { TaskRecorder } from './results/task-recorder.ts'
import { type FaultLookup, openFaultLookup } from './sidecar-faults.ts'
import { tasksReader, type VerdictWait, watchTasks } from './sidecar-tasks.ts'

export interface LoadHooks extends StopSignals {
  /** Called once, when the target has responded and the load begins. */
  readonly begun?: (run: RunningLoad) => void
  /**
   * Asks for consent to call tools without a `readOnlyHint`; without this hook such tools must be
   * named.
   */
  readonly consent?: Consent
  /** Records the shapes of results. */
  readonly recordBaseline?: boolean
  /** Called when the load has ended and waits for verdicts, with the limit of the wait. */
  readonly verdictWait?: (limitMs: number) => void
  /** Ends this wait; by default `stop`. */
  readonly endWait?: AbortSignal
}

export interface RunningLoad {
  readonly endpoint: Endpoint
  readonly called: readonly string[]
  /** Returns the remaining wait for in-flight calls; undefined while tasks still begin. */
  readonly waitsMs: () => number | undefined
  readonly recorder: Recorder
}

/** Runs a load. Throws a `LoadError` when the load cannot begin. */
export async function runLoad(options: LoadOptions, hooks: LoadHooks = {}) {
  const { target, checks, resilience, seed } = options
  const pace = shardOf(options.pace, options.shard)
  const ending = gracefulStop(pace.gracefulStopMs, hooks)
  const { stop, cut, waitsMs } = ending
  const stream = options.shard === undefined ? '' : `shard ${options.shard.index}`
  const endpoint = await openEndpoint(target, options.version)
  let clients: LoadClient[] = []
  const held = holdStreams(pace.hold)
  let faults: FaultLookup | undefined
  try {
    const { work, leftOut } = await chooseTools(options.work, endpoint.tools, hooks.consent)
    const plan = planCalls(work, endpoint.tools, checks.expectations, seed, stream)
    faults = await openFaultLookup(target, cut)
    clients = await openClients(endpoint, pace.clients)
    await held.open(clients)
    // After the handshakes of the clients: from here on, both sides count the same requests.
    const readTasks = target.readTasks ?? tasksReader(target.sidecars)
    const agents = await watchTasks(readTasks, checks.slo, verdictWait(hooks, stop))
    const startedAt = new Date()
    const recorder = new Recorder()
    const recording = hooks.recordBaseline === true ? new BaselineRecorder() : undefined
    const { baseline } = checks
    const shared = { resilience, recorder, baseline, recording, signal: cut, seed, faults, clock }
    const runTask = taskRunner(plan, shared, work, taskNames(target))
    const called = [...new Set([...work.tools, ...work.calls.map(({ tool }) => tool)])]
    hooks.begun?.({ endpoint, recorder, called, waitsMs })
    ending.begin(pace.durationMs)
    const model = { clients, callsPerTask: work.fanOut, stop, clock }
    await runModel(pace, model, runTask, recorder.tasks)
    const sent = isCompared(options) ? recorder.tasks.sent : undefined
    const ended = {
      startedAt,
      durationMs: recorder.timeline.elapsedMs,
      complete: !stop.aborted,
      leftOut,
      missedFaults: faults?.missed,
      agents: await agents?.ended(sent, verdictWait(hooks, hooks.endWait ?? stop)),
    }
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

function verdictWait(hooks: LoadHooks, signal: AbortSignal): VerdictWait {
  return { signal, begins: hooks.verdictWait }
}

/** Runs the tasks of a load: at a rate, or one after another on each client. */
export async function runModel(
  pace: LoadPace,
  fixed: Pick<LoadModel, 'clients' | 'callsPerTask' | 'stop' | 'clock'>,
  runTask: RunTask,
  recorder: TaskRecorder,
): Promise<void> {
  const model = { ...pace, ...fixed }
  if (pace.rate === undefined) return runClosedModel(model, runTask, recorder)
  const tasksPerSecond = pace.rate / fixed.callsPerTask
  return runOpenModel({ ...model, tasksPerSecond }, runTask, recorder)
}

/** Names tasks where the headers of the user do not. */
function taskNames(target: LoadTarget): TaskNames {
  const ids = names(target, TASK_HEADER) ? undefined : `load-${randomBytes(6).toString('hex')}`
  const isTraced = !names(target, 'traceparent')
  return (task) => ({
    task: ids && `${ids}-${task}`,
    trace: isTraced ? randomBytes(16).toString('hex') : undefined,
  })
}

function names({ headers }: LoadTarget, header: string): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === header)
}

/** Returns true when the sidecars count the tasks of this load as its own. */
function isCompared({ target, shard }: LoadOptions): boolean {
  return target.indirect !== true && shard === undefined && !names(target, TASK_HEADER)
}

/** Limits the sessions that begin at the same time. */
const BATCH_SIZE = 20

/** Opens the clients of a load. Rejects when a client cannot be opened. */
export async function openClients(endpoint: Endpoint, count: number): Promise<LoadClient[]> {
  const clients: LoadClient[] = []
  try {
    while (clients.length < count) {
      const batch = Math.min(BATCH_SIZE, count - clients.length)
      const opened = await Promise.allSettled(
        Array.from({ length: batch }, () => endpoint.connect()),
      )
      for (const each of opened) if (each.status === 'fulfilled') clients.push(each.value)
      const failed = opened.find((each) => each.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    }
    return clients
  } catch (error) {
    await closeClients(clients)
    throw error
  }
}

/** Ends the sessions. Never rejects. */
export async function closeClients(clients: readonly LoadClient[]): Promise<void> {
  for (let i = 0; i < clients.length; i += BATCH_SIZE) {
    await Promise.allSettled(clients.slice(i, i + BATCH_SIZE).map((client) => client.close()))
  }
}
