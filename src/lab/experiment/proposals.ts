import type { Proposal } from './experiment-result.ts'
import type { HistoryEntry } from './history.ts'
import type { Plan } from './plan.ts'
import { widest } from './stage-steps.ts'

/** The number of consecutive successful runs before a proposal. */
const GREENS = 3

const MAX_TOOLS = 20

/**
 * Proposes wider experiments after three consecutive successful runs of the same plan, including this
 * one. Only tools of `readers`, the read-only tools, are proposed.
 */
export function proposals(
  plan: Plan,
  past: readonly HistoryEntry[],
  readers: readonly string[],
): readonly Proposal[] {
  const same = past.filter(({ planDigest }) => planDigest === plan.digest)
  const before = same.slice(1 - GREENS)
  if (before.length < GREENS - 1 || before.some(({ verdict }) => verdict !== 'held')) return []
  return [...stageProposal(plan), ...toolsProposal(plan, readers), ...holdProposal(plan)]
}

function stageProposal({ file, by }: Plan): readonly Proposal[] {
  const key = by === 'pods' ? 'pods' : 'stages'
  const stages = file[key]
  const last = stages?.at(-1)
  if (stages === undefined || last === undefined || last >= 100) return []
  const next = Math.min(widest(last), last * 2)
  const written = [...stages, next].map((share) => `${share}%`).join(', ')
  return [
    {
      kind: 'stage',
      why: `${last}% held ${GREENS} times in a row`,
      write: `${key}: [${written}]`,
    },
  ]
}

function toolsProposal({ file, calls }: Plan, readers: readonly string[]): readonly Proposal[] {
  const called = [...(file.load.tools ?? []), ...calls.map(({ tool }) => tool)]
  if (called.length === 0) return []
  const others = readers.filter((tool) => !called.includes(tool))
  if (others.length === 0) return []
  const all = [...(file.load.tools ?? []), ...others].slice(0, MAX_TOOLS)
  return [
    {
      kind: 'tools',
      why: `the server has ${others.length} more that only read, and the rules may be wide enough for them`,
      write: `load: { tools: ${JSON.stringify(all)} }`,
    },
  ]
}

function holdProposal({ file }: Plan): readonly Proposal[] {
  const longer = file.hold * 2
  const written = longer % 60_000 === 0 ? `${longer / 60_000}m` : `${longer / 1000}s`
  return [
    {
      kind: 'hold',
      why: 'what fills up, leaks or expires needs longer to show',
      write: `hold: ${written}`,
    },
  ]
}
