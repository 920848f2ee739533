import { setTimeout as sleep } from 'node:timers/promises'
import { API, type Tasks } from '../../admin/api.ts'
import { AdminError, type SidecarAdmin, askAdmin } from '../../admin/api-client.ts'
import { LoadError } from './load-error.ts'
import { type AgentResult, agentsBetween, type SentCounts } from './results/agent-result.ts'
import type { SloGate } from './results/slo.ts'

const POLL_MS = 200
/** The time beyond the window in which a sidecar decides. */
const MARGIN_MS = 2_000
/** Verdicts are not waited for any longer, whatever `--task-window` says. */
const MAX_WAIT_MS = 120_000

/** Limits the wait for verdicts at the end of a load. */
export interface VerdictWait {
  readonly signal: AbortSignal
  /** Called when the wait begins, with its limit. */
  readonly begins: ((limitMs: number) => void) | undefined
}

/** Reads what sidecars count about tasks during a load. */
export interface TaskWatch {
  /**
   * Returns the counts since the start. With gates on verdicts, waits until each fault and error
   * has its verdict. Never rejects.
   */
  ended(sent: SentCounts | undefined, wait: VerdictWait): Promise<AgentResult>
}

/**
 * Begins to count; undefined without sidecars, or when one does not group calls into tasks. Throws a
 * `LoadError` when a sidecar does not respond, and when a gate could not be measured.
 */
export async function watchTasks(
  admins: readonly SidecarAdmin[],
  gates: readonly SloGate[],
): Promise<TaskWatch | undefined> {
  const gate = gates.find(({ metric }) => metric.ofVerdicts === true)
  if (admins.length === 0) {
    if (gate === undefined) return undefined
    throw new LoadError('NO_VERDICTS', needsVerdicts(gate), NAME_SIDECAR)
  }
  const before: Tasks[] = []
  for (const admin of admins) {
    const tasks = await readOrReject(admin, gate)
    if (tasks === undefined) return undefined
    before.push(tasks)
  }
  return { ended: (sent, wait) => readEnd(admins, before, sent, gate && wait) }
}

export const NAME_SIDECAR =
  'add --sidecar with the admin port of a sidecar that runs with --tasks, such as http://127.0.0.1:15390'

/** Describes that a gate cannot be measured without verdicts. */
export function needsVerdicts({ text }: SloGate): string {
  return `the gate ${text} needs the verdicts of a sidecar about what agents do`
}

/** Returns undefined when the sidecar groups no tasks and no gate needs them. */
async function readOrReject(
  admin: SidecarAdmin,
  gate: SloGate | undefined,
): Promise<Tasks | undefined> {
  const at = admin.url.origin
  try {
    return await readTasks(admin)
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    if (error.status !== 404) {
      const wrong = `the sidecar cannot be asked at ${at}: ${error.message}`
      throw new LoadError('UNREACHABLE', wrong, 'check --sidecar')
    }
    if (gate === undefined) return undefined
    const wrong = `${needsVerdicts(gate)}, but the one at ${at} groups no calls into tasks`
    throw new LoadError('NO_VERDICTS', wrong, START_WITH_TASKS)
  }
}

export const START_WITH_TASKS =
  'start it with squall run --tasks, or in a pod with the annotation squall.dev/tasks: "true"'

/** Reads the counts of a sidecar. Throws an `AdminError`, with status 404 without `--tasks`. */
export async function readTasks(admin: SidecarAdmin): Promise<Tasks> {
  return (await askAdmin(admin, API.tasks, { client: 'load' })).value
}

async function readEnd(
  admins: readonly SidecarAdmin[],
  before: readonly Tasks[],
  sent: SentCounts | undefined,
  wait: VerdictWait | undefined,
): Promise<AgentResult> {
  try {
    const first = await Promise.all(admins.map(readTasks))
    const last = wait === undefined ? first : await settled(admins, first, wait)
    const restarted = last.findIndex(({ since }, i) => since !== before[i]!.since)
    if (restarted >= 0) {
      const problem = `the sidecar at ${admins[restarted]!.url.origin} restarted during the load`
      return { ...agentsBetween(before, before), problem }
    }
    const agents = agentsBetween(before, last)
    if (sent === undefined) return agents
    const { tasks, calls, retries } = agentsBetween(before, first).tasks
    return { ...agents, compared: { load: { ...sent }, sidecar: { tasks, calls, retries } } }
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    const problem = `the verdicts of the sidecar could not be read: ${error.message}`
    return { ...agentsBetween(before, before), problem }
  }
}

/** Waits until no fault or error is without a verdict, at most for the windows of the sidecars. */
async function settled(
  admins: readonly SidecarAdmin[],
  first: readonly Tasks[],
  { signal, begins }: VerdictWait,
): Promise<readonly Tasks[]> {
  const windowMs = Math.max(...first.map(({ windowSeconds }) => (windowSeconds ?? 0) * 1000))
  const limitMs = Math.min(MAX_WAIT_MS, windowMs + MARGIN_MS)
  const until = performance.now() + limitMs
  let now = first
  const isOpen = (): boolean => now.some(({ waiting }) => waiting > 0)
  if (isOpen()) begins?.(limitMs)
  while (isOpen() && !signal.aborted && performance.now() < until) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    now = await Promise.all(admins.map(readTasks))
  }
  return now
}
