import type { AgentWatch, TaskEvent } from '../agents/agent-watch.ts'
import type { EventFacts } from '../agents/fault-event.ts'
import type { FalsifiedVerdict } from '../agents/falsified-verdicts.ts'
import type { Findings } from '../agents/findings.ts'
import type { ToolHint } from '../agents/server-tools.ts'
import type { Decided, Task } from '../agents/task.ts'
import { VERDICT_NAMES } from '../agents/verdicts.ts'
import { foreign } from '../base/text/foreign-text.ts'
import { toolOf } from '../mcp/call.ts'
import { shownClient } from '../telemetry/call-line.ts'
import type { ShownIds } from '../telemetry/shown-ids.ts'
import type { WatchedCounts } from '../telemetry/watched-counts.ts'
import type { TaskCounts } from '../telemetry/task-counts.ts'
import type { Tasks, VerdictLine } from './contract/api.ts'
import { type Filtered, parseVerdictFilter } from './contract/filters.ts'
import { MAX_SERIES } from './contract/task-schemas.ts'

/** The agents that the admin port shows. */
export interface AgentSource {
  readonly watch: AgentWatch
  readonly counts: TaskCounts
  /** The results with false values, and the calls that used one. */
  readonly lies?: () => WatchedCounts['lies']
  readonly findings: Findings
  /** The tools that get values from the results of others. */
  readonly flows?: Findings['flows']
  readonly ids: ShownIds
}

const MAX_TASKS = 200
const MAX_NAME = 128

/** Makes only the fields that filters read; a literal with getters is five times as slow. */
class FilteredVerdict implements Filtered {
  readonly #task: Task
  readonly #decided: Decided
  readonly #ids: ShownIds

  constructor(task: Task, decided: Decided, ids: ShownIds) {
    this.#task = task
    this.#decided = decided
    this.#ids = ids
  }

  get task(): string {
    return this.#ids.task(this.#task)
  }

  get tool(): string | undefined {
    return shownTool(this.#decided.event.facts)
  }

  get faults(): readonly string[] {
    return this.#decided.event.facts.causes
  }

  get verdict(): Filtered['verdict'] {
    return this.#decided.verdict
  }
}

/** Shows one verdict. */
export function verdictLine(
  { task, event, verdict, at }: TaskEvent,
  { ids }: Pick<AgentSource, 'ids'>,
): VerdictLine {
  const { action, causes, outcome, origin, client, session } = event.facts
  const { span, trace = span } = event.facts
  const tool = toolOf(action)
  const hash = ids.session(session)
  const who = shownClient(client)
  return {
    at: new Date(at).toISOString(),
    ...shownKey(task, ids),
    method: foreign(action.method, MAX_NAME),
    ...(tool !== undefined && { tool: shownTool(event.facts) }),
    ...(who !== undefined && { client: who }),
    ...(hash !== undefined && { session: hash }),
    faults: causes,
    outcome,
    origin,
    verdict,
    retries: event.retries,
    ...(verdict === 'duplicate_execution' && { idempotent: action.server.isSafe(tool) }),
    ...(trace !== undefined && ids.trace(trace)),
  }
}

/** Shows the tasks of which a verdict passes; without filters all. */
export function showTasks(source: Omit<AgentSource, 'findings'>, query: URLSearchParams): Tasks {
  const { watch, ids } = source
  const passes = parseVerdictFilter(query)
  const tasks: Tasks['tasks'][number][] = []
  for (const { task, isOpen } of watch.tasks()) {
    if (tasks.length >= MAX_TASKS) break
    if (task.sums.isEmpty) continue
    const shown = task.decided.filter((decided) => passes(new FilteredVerdict(task, decided, ids)))
    if (query.size > 0 && shown.length === 0) continue
    const { sums, result, beganAt, undecided } = task
    const { calls, retries, wasted, events } = sums
    tasks.push({
      ...shownKey(task, ids),
      beganAt: new Date(beganAt).toISOString(),
      open: isOpen,
      result,
      calls,
      retries,
      wasted,
      events,
      waiting: undecided.length,
      verdicts: shown.map((decided) => verdictLine({ ...decided, task }, source)),
    })
  }
  return { ...showCounts(source), ...showLies(source), ...showFlows(source), tasks }
}

/** Shows what became of false values. */
function showLies({ lies }: Pick<AgentSource, 'lies'>): Pick<Tasks, 'falsified' | 'falseUses'> {
  const { falsified, falseUses } = lies?.() ?? { falsified: [], falseUses: [] }
  const shownAs = (tool: string): string => foreign(tool, MAX_NAME)
  return {
    falsified: falsified.slice(0, MAX_SERIES).map(({ labels: { tool, verdict }, value }) => ({
      tool: shownAs(tool),
      verdict: verdict as FalsifiedVerdict,
      count: value,
    })),
    falseUses: falseUses.slice(0, MAX_SERIES).map(({ labels: { tool, hint }, value }) => ({
      tool: shownAs(tool),
      hint: hint as ToolHint,
      count: value,
    })),
  }
}

/** Shows which tools got values from the results of others. */
function showFlows({ flows }: Pick<AgentSource, 'flows'>): Pick<Tasks, 'flows'> {
  return {
    flows: (flows?.list ?? []).map(({ from, to, ...flow }) => ({
      from: foreign(from, MAX_NAME),
      to: foreign(to, MAX_NAME),
      ...flow,
    })),
  }
}

/** Shows the counts of all tasks. */
function showCounts({
  watch,
  counts,
}: Omit<AgentSource, 'findings'>): Omit<Tasks, 'tasks' | 'flows' | 'falsified' | 'falseUses'> {
  const { retries, wasted, silent } = counts
  const ended = {
    ok: counts.ended.get('ok') ?? 0,
    recovered: counts.ended.get('recovered') ?? 0,
    failed: counts.ended.get('failed') ?? 0,
  }
  const over = ended.ok + ended.recovered + ended.failed
  const all = over + counts.open
  const calls = [...counts.calls.values()].reduce((sum, value) => sum + value, 0) - retries
  const soFar = { ok: 0, recovered: 0, failed: 0 }
  for (const { task, isOpen } of watch.tasks()) {
    if (isOpen && !task.sums.isEmpty) soFar[task.result]++
  }
  return {
    since: new Date(watch.beganAt).toISOString(),
    windowSeconds: watch.window / 1000,
    open: counts.open,
    soFar,
    ended,
    calls,
    retries,
    wasted,
    silent,
    tcaf: share(calls, all),
    retriesPerTask: share(retries, all),
    blastRadius: share(ended.failed, over),
    totals: Object.fromEntries(
      VERDICT_NAMES.map((verdict) => [verdict, counts.verdicts.get(verdict) ?? 0]),
    ),
    waiting: watch.waiting,
    after: counts.after.slice(0, MAX_SERIES).map(({ labels, value }) => ({
      ...labels,
      tool: foreign(labels.tool, MAX_NAME),
      count: value,
    })),
    duplicates: counts.duplicates.slice(0, MAX_SERIES).map(({ labels, value }) => ({
      tool: foreign(labels.tool, MAX_NAME),
      idempotent: labels.idempotent === 'declared',
      count: value,
    })),
  }
}

function shownTool({ action }: EventFacts): string | undefined {
  const tool = toolOf(action)
  return tool === undefined ? undefined : foreign(tool, MAX_NAME)
}

function shownKey({ kind, key }: Task, ids: ShownIds): { task: string; by: Task['kind'] } {
  return { task: ids.task({ kind, key }), by: kind }
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}
