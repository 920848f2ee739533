import { plain } from '../base/text/foreign-text.ts'
import type { RecentFault, RecentFaults } from '../listener/faults/fault-report.ts'
import { sentence } from '../rules/file/problem.ts'
import type { TrustedMarkers } from '../listener/trusted-markers.ts'
import type { CompiledRule } from '../rules/match/compiled-rule.ts'
import type { ErrorKind, ErrorSamples } from '../telemetry/error-samples.ts'
import { redactText } from '../telemetry/redact.ts'
import { unanchoredRules } from '../rules/match/rule-set.ts'
import type { RuleState } from '../rules/select/rule-state.ts'
import { phaseAt, shareAt, windowEnd, windowStart } from '../rules/select/selection.ts'
import type { ActiveRules, Reload } from '../rules/watch/active-rules.ts'
import type { TemporaryRule } from '../rules/watch/temporary-rules.ts'
import type {
  Changed,
  ErrorKind as Error,
  Errors,
  Fault,
  Faults,
  LiveEvent,
  Reason,
  Reload as ShownReload,
  Rule,
  Rules,
} from './contract/api.ts'

// The JSON of the API, made from what runs.

const LAST_INSTANT = 8_640_000_000_000_000
const MAX_PROBLEMS = 50
const MAX_NAMES = 20
// A file may hold more rules; the count shows how many are left out.
const MAX_RULES = 1_000

/** Facts about the process. */
export interface ProcessFacts {
  readonly version: string
  /** The environment, as the operator names it. */
  readonly environment?: string | undefined
  /** The namespace of the pod. */
  readonly namespace?: string | undefined
  readonly pod?: string | undefined
  readonly workload?: string | undefined
  /** The addresses of the listeners, each with its upstream. */
  readonly listeners?: readonly { readonly listen: string; readonly upstream: string }[]
  /** The token that changes need; without one nothing can be changed. */
  readonly token?: string | undefined
  /** Shows whether the upstream has sent markers of another Squall. */
  readonly markers?: Pick<TrustedMarkers, 'seen'>
}

/** Shows milliseconds since the epoch as ISO 8601; null for values that are not a time. */
export function isoTime(ms: number | undefined): string | null {
  if (ms === undefined || !(Math.abs(ms) <= LAST_INSTANT)) return null
  return new Date(ms).toISOString()
}

/** Shows the state of the process and its rules that is known without I/O. */
export function showState(
  rules: ActiveRules,
  { version, environment, namespace, pod, workload, listeners = [], token, markers }: ProcessFacts,
): LiveEvent['state'] {
  const uptime = process.uptime()
  const { states, ruleSet, file, temporary, current, last } = rules
  return {
    version,
    environment: environment ?? null,
    ...(namespace !== undefined && { namespace }),
    ...(pod !== undefined && { pod }),
    ...(workload !== undefined && { workload }),
    listeners,
    startedAt: isoTime(rules.clock() - uptime * 1000),
    uptimeSeconds: Math.round(uptime * 1000) / 1000,
    canChange: token !== undefined,
    ...showArming(rules),
    dryRun: states.dryRun,
    activeFaults: states.active.active,
    maxActiveFaults: Number.isFinite(states.active.limit) ? states.active.limit : null,
    rules: {
      count: file.rules.length,
      generation: current?.generation ?? 0,
      digest: current?.version.digest ?? null,
      seed: Number(file.seed),
      ...(temporary.list.length > 0 && { temporary: temporary.list.length }),
      since: isoTime(current?.at),
    },
    ...(markers?.seen && { foreignMarkers: markers.seen }),
    unanchored: unanchoredRules(ruleSet).slice(0, MAX_NAMES),
    lastReload: last === undefined ? null : showReload(last),
  }
}

export function showArming({ arming, ruleSet, current }: ActiveRules): Omit<Changed, 'changed'> {
  const reasons: Reason[] = arming.reasons.map((each) => ({ ...each, at: isoTime(each.at) }))
  if (!ruleSet.enabled) {
    reasons.push({ by: 'file', reason: 'the file has enabled: false', at: isoTime(current?.at) })
  }
  return { armed: reasons.length === 0, reasons }
}

function showReload({ version, at }: Reload): ShownReload {
  const shown = { digest: version.digest, at: isoTime(at) }
  if (version.kind === 'rules') return { result: 'applied', ...shown }
  if (version.kind === 'absent') {
    return { result: 'absent', ...shown, reason: plain(version.reason) }
  }
  const all = version.problems.flatMap(({ file, problems }) =>
    problems.map((problem) => ({ file, problem })),
  )
  const problems = all.slice(0, MAX_PROBLEMS).map(({ file, problem }) => ({
    file: plain(file),
    line: problem.line,
    column: problem.column,
    code: problem.code,
    path: plain(problem.path),
    message: sentence({ ...problem, path: '' }),
  }))
  return { result: 'rejected', ...shown, problemCount: all.length, problems }
}

/**
 * Shows the active rules, temporary ones first, each with the results of its calls.
 * `withoutZeros` leaves out results that never occurred, which is most of them, and the texts of
 * the rules.
 */
export function showRules(
  { states, file, temporary, current, clock }: ActiveRules,
  { withoutZeros = false } = {},
): Rules {
  const now = clock()
  const version = current?.version
  const texts = version?.kind === 'rules' ? version.asWritten : undefined
  const added = new Map(temporary.list.map(({ rule, text }) => [rule, text]))
  const shown = [...states.builtIn, ...added.keys(), ...file.rules.slice(0, MAX_RULES)]
  return {
    generation: current?.generation ?? 0,
    digest: current?.version.digest ?? null,
    count: file.rules.length,
    rules: shown.flatMap((rule) => {
      const state = states.of(rule)
      if (state === undefined) return []
      const text = withoutZeros ? undefined : (added.get(rule) ?? texts?.[rule.index])
      return [
        { ...showRule(rule, state, now, withoutZeros), ...(text && { text: redacted(text) }) },
      ]
    }),
  }
}

/** Shows temporary rules; leaves out those that are no longer active. */
export function showTemporary(
  { states, clock }: ActiveRules,
  rules: readonly TemporaryRule[],
): Rule[] {
  const now = clock()
  return rules.flatMap(({ rule, text }) => {
    const state = states.of(rule)
    return state === undefined
      ? []
      : [{ ...showRule(rule, state, now, false), text: redacted(text) }]
  })
}

/** Hides what a rule may match, such as the value of `authorization`. */
function redacted(text: string): string {
  return plain(redactText(text))
}

function showRule(rule: CompiledRule, state: RuleState, now: number, withoutZeros: boolean): Rule {
  const { selection } = rule
  const { since, appliedAt, counts, active } = state
  const start = windowStart(selection, since)
  const end = windowEnd(selection, since)
  // A rule that is in no file: each call asks for its faults.
  const builtIn = rule.index < 0 && !rule.temporary
  const percent = Math.round(shareAt(selection, now - start) * 1e6) / 1e4
  return {
    name: rule.name,
    faults: rule.uses.map(({ fault }) => fault),
    about: rule.isConnection ? 'connections' : rule.isHttp ? 'http' : 'calls',
    ...(builtIn ? { builtIn } : {}),
    ...(rule.temporary ? { temporary: true } : {}),
    ...(rule.dryRun ? { dryRun: true } : {}),
    since: isoTime(since),
    appliedAt: isoTime(appliedAt),
    from: isoTime(start),
    until: isoTime(end),
    phase: phaseAt(rule, since, now),
    percent: builtIn ? null : percent,
    sampled: counts.sampled,
    active: active.active,
    counts: Object.fromEntries(
      Object.entries(counts).filter(([, count]) => count > 0 || !withoutZeros),
    ),
  }
}

/** Shows errors by kind; with `newest`, at most that number, with one sample each. */
export function showErrors(samples: ErrorSamples | undefined, newest?: number): Errors {
  const kinds = samples?.list() ?? []
  return {
    total: samples?.total ?? 0,
    dropped: samples?.dropped ?? 0,
    errors: kinds.slice(0, newest).map((kind) => showError(kind, newest === undefined)),
  }
}

function showError({ fault: by, samples, first, last, ...kind }: ErrorKind, whole: boolean): Error {
  const shown = whole ? samples : samples.slice(0, 1)
  return {
    ...kind,
    ...(by && { rule: by.rule, fault: by.fault }),
    first: isoTime(first),
    last: isoTime(last),
    samples: shown.map(({ at, ...sample }) => ({ at: isoTime(at), ...sample })),
  }
}

/** Shows the last injected faults, newest first. */
export function showFaults(recent: RecentFaults | undefined): Faults {
  return { total: recent?.total ?? 0, faults: (recent?.list() ?? []).map(showFault) }
}

export function showFault({ at, entry }: RecentFault): Fault {
  return { at: isoTime(at), ...entry }
}
