import type { Finding } from '../agents/findings.ts'
import { FINDING_KINDS, isFinding, sentenceOf } from '../agents/finding-kinds.ts'
import { foreign } from '../base/text/foreign-text.ts'
import { isoTime } from './api-show.ts'
import type { Agents, Finding as Shown } from './contract/api.ts'
import { parseAgentsFilter } from './contract/filters.ts'
import { MAX_FINDINGS } from './contract/task-schemas.ts'
import type { AgentSource } from './show-tasks.ts'

export const WITHOUT_TASKS =
  'agents are not watched: start squall run or squall stdio without --tasks=false or, in a pod, remove the annotation squall.dev/tasks: "false"'

const SHOWN = 20
const MAX_NAME = 128
const LOAD = /^squall-load(?: |$)/

/** Shows what agents did, in sentences. Throws a `CallFilterError`. */
export function showAgents({ watch, findings, ids }: AgentSource, query: URLSearchParams): Agents {
  const { passes, since = watch.beganAt } = parseAgentsFilter(query)
  const counted = findings.list(since).filter(passes)
  const found = counted.filter(({ kind, count, of }) => isFinding(kind, count, of))
  const isLoad = ({ client }: Finding): boolean => client !== undefined && LOAD.test(client)
  const sorted = [...found.filter((each) => !isLoad(each)), ...found.filter(isLoad)]
  const isAll = query.get('all') === 'true'
  const rest = isAll ? counted.filter((each) => !found.includes(each)) : []
  return {
    since: isoTime(Math.max(since, watch.beganAt)),
    windowSeconds: watch.window / 1000,
    waiting: watch.waiting,
    total: found.length,
    findings: sorted
      .slice(0, isAll ? MAX_FINDINGS : SHOWN)
      .map((each) => showFinding(each, isLoad(each) ? 'load' : 'agent', ids)),
    rest: rest.slice(0, MAX_FINDINGS).map(showHabit),
  }
}

function showHabit({ kind, client, taskKind, tool, count, of }: Finding) {
  const named = client !== undefined && { client }
  return { kind, ...named, taskKind, tool: foreign(tool, MAX_NAME), count, of }
}

function showFinding(finding: Finding, source: Shown['source'], ids: AgentSource['ids']): Shown {
  const { kind, calls } = finding
  const about: { severity: Shown['severity']; advice: string; cure?: string } = FINDING_KINDS[kind]
  const { severity, advice, cure } = about
  const habit = showHabit(finding)
  return {
    ...habit,
    severity,
    source,
    sentence: sentenceOf(kind, { ...finding, tool: habit.tool }),
    advice,
    ...(cure !== undefined && {
      cure: { name: cure, page: `docs/guides/resilient-clients.md#${cure}` },
    }),
    calls: calls.map((call) => ({
      tool: foreign(call.tool, MAX_NAME),
      at: isoTime(call.at),
      task: ids.task(call.task),
    })),
  }
}
