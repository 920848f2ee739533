import { hasUnseen } from '../../base/text/foreign-text.ts'
import { roundedDuration } from '../../base/units.ts'
import type { InjectedInto } from '../../listener/faults/fault-tally.ts'
import type { Disarmed } from '../../rules/guard/arming.ts'
import type { ToolSample } from '../../telemetry/tool-sample.ts'
import type { Next } from '../api.ts'
import { isoTime } from '../api-show.ts'
import { bucketQuantile, newer } from '../live-snapshot.ts'
import type { Mark } from '../traffic-history.ts'
import { planFor, type PlanSetting } from './next-plan.ts'
import { questionAsked } from './questions.ts'
import { type Behaviour, type PastTest, rank } from './rank.ts'

/** The facts of a sidecar that its ranking depends on. */
export interface NextFacts {
  readonly samples: readonly ToolSample[]
  /** The counts at the begin of the last minutes. */
  readonly earlier: Mark | undefined
  readonly injected: readonly InjectedInto[]
  /** Calls of tasks since the start, by tool; empty where agents are not watched. */
  readonly tasks: ReadonlyMap<string, { readonly tasks: number; readonly calls: number }>
  readonly trips: readonly Disarmed[]
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly now: number
  readonly setting: PlanSetting
}

const MAX_RANKS = 20
const MAX_NAME = 128
/** The injections that count in full. */
const MANY = 100
/** The share of a verdict that injections without one count for. */
const UNJUDGED = 0.5
/** The time between an injection and a trip of the guard that it may have caused. */
const CAUSE_MS = 60_000

/** Ranks what to test next by what the sidecar has counted since its start. */
export function showNext(facts: NextFacts): Next {
  const { samples, earlier, injected, tasks, trips, startedAt, now: at, setting } = facts
  const named = samples.filter(({ tool }) => isPlainName(tool))
  const now = named
    .flatMap((sample) => behaviourOf(sample, earlier?.samples.get(sample.tool)))
    .map((each) => {
      const counted = tasks.get(each.tool)
      return { ...each, perTask: counted ? counted.calls / counted.tasks : null }
    })
  const usual = [...(earlier?.samples.values() ?? [])].flatMap((sample) => behaviourOf(sample))
  const ranks = rank({
    now,
    usual: new Map(usual.map((each) => [each.tool, each])),
    past: injected
      .flatMap((each) => testOf(each, trips))
      .toSorted((one, other) => one.at - other.at),
    at,
    untested: `not injected since the start, ${roundedDuration(at - startedAt)} ago`,
  })
  return {
    since: isoTime(earlier?.at ?? startedAt),
    tools: now,
    ranks: ranks.slice(0, MAX_RANKS).map((each) => {
      const { tool, question, score, reasons } = each
      const { id, fault, asks } = question
      const plan = planFor(each, setting)
      return {
        tool,
        fault,
        question: id,
        asks,
        score: Math.round(score * 100) / 100,
        reasons,
        plan,
      }
    }),
  }
}

/** Returns true for a name that a plan can name exactly, and that a message can show. */
export function isPlainName(tool: string): boolean {
  // Calls of other methods, and of tools beyond the bound, have these labels.
  if (tool === '' || tool === 'other') return false
  // Labels are cut to this length, and have U+FFFD for what a label cannot hold.
  return tool.length < MAX_NAME && !/[*?\ufffd]/.test(tool) && !hasUnseen(tool)
}

/** Returns the behaviour since an earlier sample, or since the start; none without calls. */
function behaviourOf(sample: ToolSample, then?: ToolSample): readonly Behaviour[] {
  const { tool, upstreamSeconds, results } = sample
  const counted = (part: 'calls' | 'errors'): number => {
    const of = (each: ToolSample | undefined): number =>
      (each?.[part].real ?? 0) + (each?.[part].squall ?? 0)
    return of(sample) - of(then)
  }
  const calls = counted('calls')
  if (calls <= 0) return []
  const { bounds, counts } = newer(upstreamSeconds, then?.upstreamSeconds)
  const sized = results.count - (then?.results.count ?? 0)
  const bytes = results.bytes - (then?.results.bytes ?? 0)
  return [
    {
      tool,
      calls,
      errors: counted('errors'),
      p95: bucketQuantile(0.95, bounds, counts),
      bytes: sized > 0 ? Math.round(bytes / sized) : null,
    },
  ]
}

/** Returns the question that injections asked; no experiment has judged the response of callers. */
function testOf(injected: InjectedInto, trips: readonly Disarmed[]): readonly PastTest[] {
  const question = questionAsked(injected)
  if (question === undefined) return []
  const { tool, count, last } = injected
  const failed = trips.some(({ at }) => at >= last && at - last <= CAUSE_MS)
  const end = failed ? 'until real errors disarmed all rules' : 'without a verdict'
  return [
    {
      question: question.id,
      covers: (name) => name === tool,
      at: last,
      known: failed ? 0 : UNJUDGED * Math.min(1, count / MANY),
      failed,
      result: `injected ${count} times ${end}`,
    },
  ]
}
