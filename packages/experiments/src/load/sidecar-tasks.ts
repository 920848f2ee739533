import { setTimeout as sleep } from 'node:timers/promises'
import {
  AdminError,
  type Agents,
  API,
  askAdmin,
  type Endpoint,
  type ResponseOf,
  type SidecarAdmin,
  type Tasks,
} from '#admin-api'
import { LoadError } from './load-error.ts'
import { agentsBetween, mergedFindings, type SentCounts } from './results/agent-result.ts'
import type { AgentResult } from './results/result.ts'
import type { SloGate } from './results/slo.ts'

const POLL_MS = 500
/** The time beyond the window in which a sidecar decides. */
const MARGIN_MS = 2_000
/** Verdicts are not waited for any longer, whatever `--task-window` says. */
const MAX_WAIT_MS = 120_000

/** Clocks of pods differ by less. */
const CLOCK_BLUR_MS = 2_000

/** The counts of one sidecar; without `tasks` it does not group calls into tasks. */
export interface TaskReading {
  /** Names the sidecar: `the sidecar at http://127.0.0.1:15390`. */
  readonly name: string
  readonly tasks: Tasks | undefined
  /** The findings since a time, where they were asked for and the sidecar has them. */
  readonly findings?: Agents['findings']
  /** The reason for which the sidecar did not return its findings. */
  readonly problem?: string
}

/** Reads the counts of all sidecars, or the findings since a time. Throws an `AdminError`. */
export type ReadTasks = (since?: number) => Promise<readonly TaskReading[]>

/** Limits a wait for verdicts, before a load and at its end. */
export interface VerdictWait {
  readonly signal: AbortSignal
  /** Called when the wait begins, with its limit. */
  readonly begins: ((limitMs: number) => void) | undefined
}

export const NAME_SIDECAR =
  'add --sidecar with the admin port of a sidecar, such as http://127.0.0.1:15390'
export const START_WITH_TASKS =
  'start it without --tasks=false or, in a pod, remove the annotation squall.dev/tasks: "false"'

/** Reads the counts by admin ports. */
export function tasksReader(admins: readonly SidecarAdmin[] = []): ReadTasks {
  return (since) =>
    Promise.all(
      admins.map((admin) =>
        readTasksOf(`the sidecar at ${admin.url.origin}`, since, (each) => ifThere(admin, each)),
      ),
    )
}

/** Reads the counts of a sidecar, or its findings since a time. Throws an `AdminError` for counts. */
export async function readTasksOf(
  name: string,
  since: number | undefined,
  ask: <E extends Endpoint>(endpoint: E) => Promise<ResponseOf<E> | undefined>,
): Promise<TaskReading> {
  if (since === undefined) return { name, tasks: await ask(API.tasks) }
  try {
    return { name, tasks: undefined, findings: (await ask(agentsSince(since)))?.findings ?? [] }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return {
      name,
      tasks: undefined,
      problem: `${name} did not return its findings: ${error.message}`,
    }
  }
}

function agentsSince(time: number): typeof API.agents {
  const { path } = API.agents
  return { ...API.agents, path: `${path}?since=${new Date(time).toISOString()}` as typeof path }
}

/** Asks for JSON; undefined where the sidecar does not group calls into tasks. */
export async function ifThere<E extends Endpoint>(
  admin: SidecarAdmin,
  endpoint: E,
  client = 'load',
): Promise<ResponseOf<E> | undefined> {
  try {
    return (await askAdmin(admin, endpoint, { client })).value
  } catch (error) {
    if (error instanceof AdminError && error.status === 404) return undefined
    throw error
  }
}

/** Returns the gate that only verdicts can measure, if any. */
export function verdictGate(gates: readonly SloGate[]): SloGate | undefined {
  return gates.find(({ metric }) => metric.ofVerdicts === true)
}

/** Describes that a gate cannot be measured without verdicts. */
export function needsVerdicts({ text }: SloGate): string {
  return `the gate ${text} requires agent verdicts from a sidecar`
}

/** Describes that a gate cannot be measured by a sidecar that gives no verdicts. */
export function needsTasks(gate: SloGate, sidecar: string): string {
  return `${needsVerdicts(gate)}, but ${sidecar} does not group calls into tasks`
}

/** Names the first sidecar that does not group calls into tasks. */
export function withoutTasks(readings: readonly TaskReading[]): string | undefined {
  return readings.find(({ tasks }) => tasks === undefined)?.name
}

/**
 * Begins to count; undefined when the sidecars do not group calls into tasks. With gates on
 * verdicts, waits for those of earlier calls. Throws a `LoadError` when the counts cannot be read, or
 * when a gate could not be measured.
 */
export async function watchTasks(read: ReadTasks, gates: readonly SloGate[], wait: VerdictWait) {
  const gate = verdictGate(gates)
  const before = await readBefore(read, gate, wait)
  const beganAt = Date.now()
  const without = withoutTasks(before)
  if (before.length > 0 && without === undefined) {
    /**
     * Returns the counts since the start. With gates on verdicts, waits until each fault and error
     * has its verdict. Never rejects.
     */
    const ended = (sent: SentCounts | undefined, end: VerdictWait): Promise<AgentResult> =>
      readEnd(read, { beganAt, before }, sent, gate && end)
    return { ended }
  }
  if (gate === undefined) return undefined
  if (without === undefined) throw new LoadError('NO_VERDICTS', needsVerdicts(gate), NAME_SIDECAR)
  throw new LoadError('NO_VERDICTS', needsTasks(gate, without), START_WITH_TASKS)
}

/** The counts before the load. */
interface TasksBefore {
  readonly before: readonly TaskReading[]
  /** Milliseconds since the epoch. */
  readonly beganAt: number
}

async function readBefore(
  read: ReadTasks,
  gate: SloGate | undefined,
  wait: VerdictWait,
): Promise<readonly TaskReading[]> {
  try {
    const now = await read()
    return gate === undefined ? now : await settled(read, now, wait)
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    if (gate === undefined) return []
    const wrong = `the tasks of the sidecar cannot be read: ${error.message}`
    throw new LoadError('UNREACHABLE', wrong, 'check --sidecar')
  }
}

async function readEnd(
  read: ReadTasks,
  begin: TasksBefore,
  sent: SentCounts | undefined,
  wait: VerdictWait | undefined,
): Promise<AgentResult> {
  const start = begin.before.flatMap(({ tasks }) => tasks ?? [])
  try {
    const reading = await read()
    const first = countsOf(begin, reading)
    const last = wait === undefined ? first : countsOf(begin, await settled(read, reading, wait))
    const readings = await read(begin.beganAt)
    const findings = mergedFindings(readings.flatMap((each) => each.findings ?? []))
    const problem = readings.find((each) => each.problem !== undefined)?.problem
    const agents = {
      ...agentsBetween(start, last),
      ...(findings.length > 0 && { findings }),
      ...(problem !== undefined && { problem }),
    }
    if (sent === undefined) return agents
    const { tasks, calls, retries } = agentsBetween(start, first).tasks
    return { ...agents, compared: { load: { ...sent }, sidecar: { tasks, calls, retries } } }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const problem = `the verdicts about agents are incomplete: ${error.message}`
    return { ...agentsBetween(start, start), problem }
  }
}

/** Returns the counts of all sidecars. Throws an `AdminError` when counts of one were lost. */
function countsOf({ before, beganAt }: TasksBefore, now: readonly TaskReading[]): readonly Tasks[] {
  const lost = before.find(({ name, tasks }) => {
    const found = now.find((each) => each.name === name)
    return found?.tasks?.since !== tasks?.since
  })
  if (lost !== undefined) throw new AdminError(`${lost.name} exited or restarted during the load`)
  // A sidecar that began later counts from zero; of others the counts before the load are needed.
  const unread = now.find(
    ({ name, tasks }) =>
      tasks !== undefined &&
      !before.some((each) => each.name === name) &&
      Date.parse(tasks.since ?? '') < beganAt - CLOCK_BLUR_MS,
  )
  if (unread !== undefined) throw new AdminError(`${unread.name} did not respond before the load`)
  return now.flatMap(({ tasks }) => tasks ?? [])
}

/** Waits until no fault or error is without a verdict, at most for the windows of the sidecars. */
async function settled(
  read: ReadTasks,
  first: readonly TaskReading[],
  { signal, begins }: VerdictWait,
): Promise<readonly TaskReading[]> {
  const windowMs = Math.max(0, ...first.map(({ tasks }) => (tasks?.windowSeconds ?? 0) * 1000))
  const limitMs = Math.min(MAX_WAIT_MS, windowMs + MARGIN_MS)
  const until = performance.now() + limitMs
  let now = first
  const isOpen = (): boolean => now.some(({ tasks }) => (tasks?.waiting ?? 0) > 0)
  if (isOpen()) begins?.(limitMs)
  while (isOpen() && !signal.aborted && performance.now() < until) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    now = await read()
  }
  return now
}
