import type { Tasks } from '#admin-api'
import { roundedDuration } from '#base'
import { type Baseline, NEEDS_FULL } from '../slo/baseline.ts'
import { type Question, QUESTIONS, type Symptom } from './questions.ts'

/** The behaviour of a tool over a time, without what faults ended; null is for what is not known. */
export interface Behaviour extends Omit<Baseline, 'p50' | 'p99'> {
  /** Calls by a task that calls the tool, without retries; not known where agents are not watched. */
  readonly perTask?: number | null
}

/** A question that was asked earlier. */
export interface PastTest {
  readonly question: string
  /** Returns true for the tools that it was asked about. */
  readonly covers: (tool: string) => boolean
  /** Milliseconds since 1970. */
  readonly at: number
  /** The weight of the result when it was new, from 0 to 1; 0 after a failure. */
  readonly known: number
  readonly failed: boolean
  /** The result, such as `passed at 50%`. */
  readonly result: string
  /** The run, and its measures before the stages: the share of errors, and the p95 in milliseconds. */
  readonly before?:
    | { readonly run: string; readonly errors: number | null; readonly p95: number | null }
    | undefined
}

/** A question that is worth an experiment. */
export interface Rank {
  readonly tool: string
  readonly question: Question
  /** From 0 to 3. */
  readonly score: number
  /** The parts of the score, with their numbers. */
  readonly reasons: readonly string[]
}

/** All that the ranking depends on. */
export interface Evidence {
  readonly now: readonly Behaviour[]
  /** The usual behaviour by tool. */
  readonly usual: ReadonlyMap<string, Behaviour>
  readonly past: readonly PastTest[]
  /** The tools that get values from the results of others, as far as that was seen. */
  readonly flows?: Tasks['flows'] | undefined
  /** Milliseconds since 1970. */
  readonly at: number
}

const DAY_MS = 86_400_000
/** The time after which a passed test counts for about a third. */
const MEMORY_DAYS = 30
/** The calls below which a change may be chance. */
const FEW = 30
/** The load of an experiment and the sidecar measure p95 differently: a factor of two is the same. */
const SAME = Math.log(2)
/** The score of a tool whose results feed a destructive one. */
const DANGER = 0.25

/** Ranks tools and questions, the most urgent first. */
export function rank(evidence: Evidence): readonly Rank[] {
  const most = Math.max(1, ...evidence.now.map(({ calls }) => calls))
  return evidence.now
    .flatMap((now) =>
      QUESTIONS.filter(
        ({ ofSources }) => ofSources !== true || destructiveUse(now, evidence) !== undefined,
      ).map((question) => rankOf(now, question, most, evidence)),
    )
    .toSorted((one, other) => other.score - one.score)
}

function rankOf(now: Behaviour, question: Question, most: number, evidence: Evidence): Rank {
  const past = evidence.past.filter(
    (test) => test.question === question.id && test.covers(now.tool),
  )
  const weight = 0.25 + (0.75 * Math.log1p(now.calls)) / Math.log1p(most)
  const parts = [
    gap(past, evidence),
    change(now, evidence.usual.get(now.tool), question.symptom),
    likeness(now, past),
    ...(question.ofSources === true ? [danger(now, evidence)] : []),
  ]
  return {
    tool: now.tool,
    question,
    score: weight * parts.reduce((sum, { score }) => sum + score, 0),
    reasons: [
      `${now.calls} calls: weight ${weight.toFixed(2)}`,
      ...parts
        .filter(({ score }) => score > 0)
        .map(({ why, score }) => `${why}: +${score.toFixed(2)}`),
      ...(now.isBasic === true && question.symptom !== 'errors' ? [NEEDS_FULL] : []),
    ],
  }
}

interface Part {
  readonly score: number
  readonly why: string
}

const NOTHING: Part = { score: 0, why: '' }

/** Returns the most frequent use of the results of a tool in a destructive one. */
function destructiveUse({ tool }: Behaviour, { flows = [] }: Evidence) {
  const uses = flows.filter(({ from, hint }) => from === tool && hint === 'destructive')
  return uses.toSorted((one, other) => other.calls - one.calls)[0]
}

/** Scores that a wrong result may do damage: between equal tests, this one comes first. */
function danger(now: Behaviour, evidence: Evidence): Part {
  const use = destructiveUse(now, evidence)
  if (use === undefined) return NOTHING
  const times = use.calls === 1 ? 'once' : `${use.calls} times`
  return {
    score: DANGER,
    why: `${use.to}, which is destructive, was called with its values ${times}`,
  }
}

/** Scores how long ago, and with what result, the question was asked. */
function gap(past: readonly PastTest[], { at }: Evidence): Part {
  const last = past.at(-1)
  if (last === undefined) return { score: 1, why: 'never tested' }
  const ms = Math.max(0, at - last.at)
  const known = last.known * Math.exp(-ms / DAY_MS / MEMORY_DAYS)
  return { score: 1 - known, why: `${last.result}, ${roundedDuration(ms)} ago` }
}

/** Scores how much the tool differs from its usual behaviour. */
function change(now: Behaviour, usual: Behaviour | undefined, symptom: Symptom): Part {
  if (usual === undefined || now.calls < FEW || usual.calls < FEW) return NOTHING
  if (symptom === 'errors') {
    const share = now.errors / now.calls
    const before = usual.errors / usual.calls
    const noise = 2 * Math.sqrt((before * (1 - before) + 0.25 / now.calls) / now.calls)
    if (share <= before + noise) return repetition(now.perTask, usual.perTask)
    const why = `${percent(share)} errors, usually ${percent(before)}`
    return { score: Math.min(1, (share - before) * 10), why }
  }
  const [value, before] = symptom === 'latency' ? [now.p95, usual.p95] : [now.bytes, usual.bytes]
  if (value === null || before === null || before === 0) return NOTHING
  const ratio = value / before
  const distance = Math.abs(Math.log2(ratio))
  // A slower tool is closer to its timeouts; results of any other size are news.
  if (distance < 0.5 || (symptom === 'latency' && ratio < 1)) return NOTHING
  const name = symptom === 'latency' ? 'p95' : 'result size'
  return { score: Math.min(1, distance / 2), why: `${name} is ${ratio.toFixed(1)} times the usual` }
}

/** Scores how much more often tasks call the tool: agents also repeat calls after a failure that is not an error. */
function repetition(now: number | null = null, before: number | null = null): Part {
  if (now === null || before === null || before === 0 || now < before * Math.SQRT2) return NOTHING
  const why = `${now.toFixed(1)} calls per task, usually ${before.toFixed(1)}`
  return { score: Math.min(1, Math.log2(now / before) / 2), why }
}

/** Scores how much the tool resembles the time before an experiment that failed, and was not repaired. */
function likeness(now: Behaviour, past: readonly PastTest[]): Part {
  const last = past.at(-1)
  if (last?.before === undefined || !last.failed || now.calls < FEW) return NOTHING
  const { run, errors, p95 } = last.before
  const parts = [
    ...(errors === null ? [] : [20 * Math.abs(now.errors / now.calls - errors)]),
    ...(p95 === null || now.p95 === null || p95 === 0
      ? []
      : [Math.max(0, Math.abs(Math.log((now.p95 * 1000) / p95)) - SAME)]),
  ]
  if (parts.length === 0) return NOTHING
  const score = Math.exp(-parts.reduce((sum, part) => sum + part, 0))
  return { score, why: `as before the failure in ${run}` }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`
}
